import { KEY_LABEL_MAX_LENGTH, type RateLimit, type Scope, SCOPES } from '../../domain/api-key.ts';
import { parseDuration } from '../config/duration.ts';
import { parseRateLimit, RATE_LIMIT_FORM } from '../config/rate-limit.ts';
import { UsageError } from './usage-error.ts';

/** The texts of the options, as they were given. */
export type KeyOptions = {
  readonly label?: string | undefined;
  readonly scopes?: string | undefined;
  readonly expires?: string | undefined;
  readonly 'rate-limit'?: string | undefined;
  readonly overlap?: string | undefined;
};

/** How long a key lives when nothing is said. */
export const DEFAULT_EXPIRES = '365d';
/** How long the old key stays valid in a rotation when nothing is said. */
export const DEFAULT_OVERLAP = '24h';

export function labelOf({ label }: KeyOptions): string {
  if (label === undefined) throw wrong(`--label must be given: 1 to ${KEY_LABEL_MAX_LENGTH} characters`);
  return label;
}

export function scopesOf({ scopes }: KeyOptions): readonly Scope[] {
  if (scopes === undefined) return SCOPES;
  const names = scopes.split(',');
  if (!names.every(isScope)) throw wrong(`--scopes must be one or more of ${SCOPES.join(',')}`);
  return names;
}

/** The instant at which the key expires; `undefined` for never. */
export function expiryOf({ expires = DEFAULT_EXPIRES }: KeyOptions, now: Date): Date | undefined {
  if (expires === 'never') return undefined;
  const ms = parseDuration(expires);
  if (ms === undefined || ms === 0) throw wrong('--expires must be a duration such as 365d or 12h, or never');
  return new Date(now.getTime() + ms);
}

export function rateLimitOf(options: KeyOptions): RateLimit | undefined {
  const text = options['rate-limit'];
  if (text === undefined) return undefined;
  const limit = parseRateLimit(text);
  if (limit === undefined) throw wrong(`--rate-limit ${RATE_LIMIT_FORM}`);
  return limit;
}

/** In milliseconds. */
export function overlapOf({ overlap = DEFAULT_OVERLAP }: KeyOptions): number {
  const ms = parseDuration(overlap);
  if (ms === undefined) throw wrong('--overlap must be a duration such as 24h or 0s');
  return ms;
}

/** The value itself is not repeated: somebody may have pasted a key. */
export function idOf(positional: string | undefined): string {
  if (positional === undefined || !/^[0-9a-f]{16}$/.test(positional)) {
    throw wrong(
      'ID must be the 16 hexadecimal digits that list shows, which a key has between its underscores',
    );
  }
  return positional;
}

export function wrong(problem: string): UsageError {
  return new UsageError(problem, 'keys ');
}

function isScope(name: string): name is Scope {
  return (SCOPES as readonly string[]).includes(name);
}
