import type { Problem } from './problem.ts';

/** What an API key may be good for: reading the catalogue, and adding to it. */
export const SCOPES = ['pets:read', 'pets:write'] as const;
export type Scope = (typeof SCOPES)[number];

/** At most `requests` in each window of `seconds`. */
export type RateLimit = {
  /** 1 to {@link RATE_LIMIT_MAX_REQUESTS}. */
  readonly requests: number;
  /** 1 to {@link RATE_LIMIT_MAX_SECONDS}. */
  readonly seconds: number;
};

export const RATE_LIMIT_MAX_REQUESTS = 1_000_000_000;
/** A day. */
export const RATE_LIMIT_MAX_SECONDS = 86_400;

export const KEY_LABEL_MAX_LENGTH = 64;

/** What somebody wants a key to be: not yet checked. */
export type ApiKeyDraft = {
  readonly label: string;
  readonly scopes: readonly Scope[];
  /** From this instant on the key is not valid; it stays valid when absent. */
  readonly expiresAt?: Date | undefined;
  /** Instead of the one that the service has for all keys. */
  readonly rateLimit?: RateLimit | undefined;
};

/** A draft that obeys every rule. Only {@link newApiKey} makes one. */
export type NewApiKey = {
  /** A name for people: 1 to {@link KEY_LABEL_MAX_LENGTH} code points, nothing but visible characters and inner spaces. */
  readonly label: string;
  /** At least one, each once, in the order of {@link SCOPES}. */
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
  readonly expiresAt?: Date;
  readonly rateLimit?: RateLimit;
};

/** A key as a repository keeps it: everything but the key itself. Times are exact to the millisecond. */
export type ApiKey = NewApiKey & {
  /** Public: 16 lower-case hex digits, in the key itself and in every log. */
  readonly id: string;
  /** SHA-256 of the key, as 64 lower-case hex digits. */
  readonly digest: string;
  /** When the key was ended for good. */
  readonly revokedAt?: Date;
  /** Written at most once a minute. */
  readonly lastUsedAt?: Date;
};

export type ApiKeyState = 'active' | 'expired' | 'revoked';

/** A draft breaks the rules of a key. Carries every problem, not only the first. */
export class InvalidApiKey extends Error {
  readonly kind = 'invalid-api-key';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ field, problem }) => `${field} ${problem}`).join('; '));
    this.name = 'InvalidApiKey';
    this.problems = problems;
  }
}

/**
 * No control, format and invisible characters, which could deceive whoever reads a list in a terminal; no spaces at the
 * ends. U+2800 is a symbol that looks like a space.
 */
const LABEL = new RegExp(
  `^(?! )[[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]--[\\p{Default_Ignorable_Code_Point}\\u2800]]{1,${KEY_LABEL_MAX_LENGTH}}(?<! )$`,
  'v',
);

/** The form of the id of a key. */
export const API_KEY_ID = /^[0-9a-f]{16}$/;
const DIGEST = /^[0-9a-f]{64}$/;

/** @throws {InvalidApiKey} naming every field that breaks a rule. */
export function newApiKey(draft: ApiKeyDraft, now: Date): NewApiKey {
  const { label, scopes, expiresAt, rateLimit } = draft;
  const problems: Problem[] = [];
  const check = (isRight: boolean, field: string, value: unknown, problem: string) => {
    if (!isRight) problems.push({ field, value, problem });
  };
  check(
    LABEL.test(label),
    'label',
    label,
    `must be 1 to ${KEY_LABEL_MAX_LENGTH} visible characters, with spaces only between them`,
  );
  check(
    scopes.length > 0 && scopes.every((scope) => SCOPES.includes(scope)),
    'scopes',
    scopes,
    `must be one or more of ${SCOPES.join(', ')}`,
  );
  // Also of what is no date at all.
  check(
    expiresAt === undefined || expiresAt.getTime() > now.getTime(),
    'expiresAt',
    expiresAt,
    'must be in the future',
  );
  check(
    rateLimit === undefined ||
      (isWithin(rateLimit.requests, RATE_LIMIT_MAX_REQUESTS) &&
        isWithin(rateLimit.seconds, RATE_LIMIT_MAX_SECONDS)),
    'rateLimit',
    rateLimit,
    `must be 1 to ${RATE_LIMIT_MAX_REQUESTS} requests in 1 to ${RATE_LIMIT_MAX_SECONDS} seconds`,
  );
  if (problems.length > 0) throw new InvalidApiKey(problems);
  return {
    label,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    createdAt: new Date(now),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
    ...(rateLimit !== undefined && {
      rateLimit: { requests: rateLimit.requests, seconds: rateLimit.seconds },
    }),
  };
}

/** A field of what a storage holds as a key that breaks a rule, and the rule, never the content of the field. */
export function storedApiKeyProblem(
  fields: Readonly<Partial<Record<keyof ApiKey, unknown>>>,
): string | undefined {
  const { id, digest, label, scopes, createdAt, rateLimit } = fields;
  if (typeof id !== 'string' || !API_KEY_ID.test(id)) return 'id must be 16 lower-case hex digits';
  if (typeof digest !== 'string' || !DIGEST.test(digest)) return 'digest must be 64 lower-case hex digits';
  if (typeof label !== 'string' || !LABEL.test(label)) return 'label must be visible characters';
  if (!Array.isArray(scopes) || scopes.length === 0 || !scopes.every(isScope)) {
    return `scopes must be one or more of ${SCOPES.join(', ')}`;
  }
  if (!isInstant(createdAt)) return 'createdAt must be an instant';
  for (const name of ['expiresAt', 'revokedAt', 'lastUsedAt'] as const) {
    if (fields[name] !== undefined && !isInstant(fields[name])) return `${name} must be an instant`;
  }
  if (rateLimit === undefined) return undefined;
  const { requests, seconds } = (rateLimit ?? {}) as Partial<Record<keyof RateLimit, unknown>>;
  const isLimit = isWithin(requests, RATE_LIMIT_MAX_REQUESTS) && isWithin(seconds, RATE_LIMIT_MAX_SECONDS);
  return isLimit ? undefined : 'rateLimit must be a number of requests in a number of seconds';
}

type StoredFields = {
  readonly [K in 'id' | 'digest' | 'label' | 'scopes' | 'createdAt']: ApiKey[K];
} & {
  readonly [K in 'expiresAt' | 'rateLimit' | 'revokedAt' | 'lastUsedAt']?: ApiKey[K] | undefined;
};

/** A key as a repository knows it: its fields and no others. Trusts the caller that it is one. */
export function storedApiKey(fields: StoredFields): ApiKey {
  const { id, digest, label, scopes, createdAt, expiresAt, rateLimit, revokedAt, lastUsedAt } = fields;
  return {
    id,
    digest,
    label,
    scopes,
    createdAt,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(rateLimit !== undefined && { rateLimit }),
    ...(revokedAt !== undefined && { revokedAt }),
    ...(lastUsedAt !== undefined && { lastUsedAt }),
  };
}

/** Whether the key is good for anything now. Revoked is revoked, even where the clock of whoever did it is ahead. */
export function apiKeyState(key: Pick<ApiKey, 'expiresAt' | 'revokedAt'>, now: Date): ApiKeyState {
  if (key.revokedAt !== undefined) return 'revoked';
  // So that what is no instant is expired.
  return key.expiresAt === undefined || now < key.expiresAt ? 'active' : 'expired';
}

function isWithin(value: unknown, max: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max;
}

function isInstant(value: unknown): boolean {
  return value instanceof Date && !Number.isNaN(value.getTime());
}

function isScope(value: unknown): boolean {
  return (SCOPES as readonly unknown[]).includes(value);
}
