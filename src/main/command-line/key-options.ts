import {
  API_KEY_ID,
  KEY_LABEL_MAX_LENGTH,
  type RateLimit,
  type Scope,
  SCOPES,
} from '../../domain/api-key.ts';
import { parseDurationMs, parseRateLimit, RATE_LIMIT_FORM } from '../config/forms.ts';
import { UsageError } from '../program/failures.ts';
import type { Given } from './session.ts';

// Each function reads one part of the command line of `keys`, and throws a UsageError when that part is wrong.

/** How long a key is valid by default. */
export const DEFAULT_EXPIRES = '365d';
/** How long a replaced key stays valid by default. */
export const DEFAULT_OVERLAP = '24h';

export function labelOf({ options: { label } }: Given): string {
  if (label === undefined)
    throw new UsageError(`--label is required: 1 to ${KEY_LABEL_MAX_LENGTH} characters`);
  return label;
}

export function scopesOf({ options: { scopes } }: Given): readonly Scope[] {
  if (scopes === undefined) return SCOPES;
  const names = scopes.split(',');
  if (!names.every(isScope)) throw new UsageError(`--scopes must be one or more of ${SCOPES.join(',')}`);
  return names;
}

/** The instant at which the key expires; `undefined` for never. */
export function expiryOf({ options: { expires = DEFAULT_EXPIRES } }: Given, now: Date): Date | undefined {
  if (expires === 'never') return undefined;
  const ms = parseDurationMs(expires);
  if (ms === undefined || ms === 0) {
    throw new UsageError('--expires must be a duration such as 365d or 12h, or never');
  }
  return new Date(now.getTime() + ms);
}

export function rateLimitOf({ options: { rateLimit } }: Given): RateLimit | undefined {
  if (rateLimit === undefined) return undefined;
  const limit = parseRateLimit(rateLimit);
  if (limit === undefined) throw new UsageError(`--rate-limit ${RATE_LIMIT_FORM}`);
  return limit;
}

export function overlapMsOf({ options: { overlap = DEFAULT_OVERLAP } }: Given): number {
  const ms = parseDurationMs(overlap);
  if (ms === undefined) throw new UsageError('--overlap must be a duration such as 24h or 0s');
  return ms;
}

/** Never repeats the value, which may be a whole key. */
export function idOf({ positionals: [id] }: Given): string {
  if (id === undefined || !API_KEY_ID.test(id)) {
    throw new UsageError(
      'ID must be the 16 hexadecimal digits between the underscores of a key, as in keys list',
    );
  }
  return id;
}

function isScope(name: string): name is Scope {
  return (SCOPES as readonly string[]).includes(name);
}
