import { type RateLimit, RATE_LIMIT_MAX } from './rate-limit.ts';
import { isSha256, SHA_256_RULE } from './sha-256.ts';

export const SCOPES = ['pets:read', 'pets:write'] as const;
export type Scope = (typeof SCOPES)[number];

/** In Unicode code points. */
export const KEY_LABEL_MAX_LENGTH = 64;

/** A key that obeys every rule and has no id yet. Only {@link newApiKey} makes such a key. */
export type NewApiKey = {
  /** 1 to {@link KEY_LABEL_MAX_LENGTH} visible characters, with spaces only between them. */
  readonly label: string;
  /** At least one scope, without duplicates, in the order of {@link SCOPES}. */
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
  /** The first instant at which the key is invalid. A key without `expiresAt` never expires. */
  readonly expiresAt?: Date;
  /** Replaces the rate limit of the service for this key. */
  readonly rateLimit?: RateLimit;
  /** In a successor (see `RotateKey`): the id of the first key. A key and its successors share idempotency keys. */
  readonly originId?: string;
};

/** A key that an operator requests. The rules are not checked yet. Only a rotation sets `originId`. */
export type ApiKeyDraft = Pick<NewApiKey, 'label' | 'scopes'> & {
  readonly [Field in 'expiresAt' | 'rateLimit' | 'originId']?: NewApiKey[Field] | undefined;
};

/** A key in a repository, without the token. Times are exact to the millisecond. */
export type ApiKey = NewApiKey & {
  /** 16 lower-case hex digits. Public: the token and every log line about the key contain the id. */
  readonly id: string;
  /** SHA-256 of the token: 64 lower-case hex digits. */
  readonly digest: string;
  /** A revoked key never becomes valid again. */
  readonly revokedAt?: Date;
  /** Updated at most once per minute. */
  readonly lastUsedAt?: Date;
};

export type ApiKeyState = 'active' | 'expired' | 'revoked';

export class InvalidApiKey extends Error {
  readonly kind = 'invalid-api-key';
  readonly fault = 'client';

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
  }
}

/** No control, format or invisible characters, because they could deceive a reader. U+2800 looks like a space. */
const VISIBLE_CHARACTERS = '[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]--[\\p{Default_Ignorable_Code_Point}\\u2800]';
const LABEL_PATTERN = new RegExp(`^(?! )[${VISIBLE_CHARACTERS}]{1,${KEY_LABEL_MAX_LENGTH}}(?<! )$`, 'v');

export const API_KEY_ID = /^[0-9a-f]{16}$/;

/** `must`: a phrase that follows the name of the field. */
type Rule = readonly [isObeyed: (value: unknown) => boolean, must: string];
type Rules = { readonly [Field in keyof ApiKey]?: Rule };

const RULES = {
  id: [matches(API_KEY_ID), 'must be 16 lower-case hex digits'],
  digest: [isSha256, SHA_256_RULE],
  label: [
    matches(LABEL_PATTERN),
    `must be 1 to ${KEY_LABEL_MAX_LENGTH} visible characters, with spaces only between them`,
  ],
  scopes: [areScopes, `must be one or more of ${SCOPES.join(', ')}`],
  createdAt: [isInstant, 'must be an instant'],
  expiresAt: [optional(isInstant), 'must be an instant'],
  revokedAt: [optional(isInstant), 'must be an instant'],
  lastUsedAt: [optional(isInstant), 'must be an instant'],
  originId: [optional(matches(API_KEY_ID)), 'must be 16 lower-case hex digits'],
  rateLimit: [
    optional(isRateLimit),
    `must be 1 to ${RATE_LIMIT_MAX.requests} requests in 1 to ${RATE_LIMIT_MAX.seconds} seconds`,
  ],
} satisfies Required<Rules>;

/** @throws {InvalidApiKey} naming every rule that the draft breaks */
export function newApiKey(draft: ApiKeyDraft, now: Date): NewApiKey {
  const isFuture = (value: unknown) => isInstant(value) && value > now;
  const problems = apiKeyProblems(draft, {
    label: RULES.label,
    scopes: RULES.scopes,
    expiresAt: [optional(isFuture), 'must be in the future'],
    rateLimit: RULES.rateLimit,
  });
  if (problems.length > 0) throw new InvalidApiKey(problems);
  const { label, scopes, expiresAt, rateLimit, originId } = draft;
  const fields: { readonly [Field in keyof Required<NewApiKey>]: NewApiKey[Field] | undefined } = {
    label,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    createdAt: new Date(now),
    expiresAt: expiresAt && new Date(expiresAt),
    rateLimit: rateLimit && { requests: rateLimit.requests, seconds: rateLimit.seconds },
    originId,
  };
  return storedApiKey(fields as NewApiKey);
}

/** @returns every broken rule, as a phrase such as "label must be …", without the value of the field */
export function apiKeyProblems(
  fields: Partial<Record<keyof ApiKey, unknown>>,
  rules: Rules = RULES,
): readonly string[] {
  return Object.entries(rules)
    .filter(([field, [isObeyed]]) => !isObeyed(fields[field as keyof ApiKey]))
    .map(([field, [, must]]) => `${field} ${must}`);
}

/** Removes unknown fields, and fields that are `undefined`. Does not check the rules. */
export function storedApiKey<Key extends NewApiKey>(key: Key): Key {
  const stored = Object.entries(key).filter(
    ([field, value]) => Object.hasOwn(RULES, field) && value !== undefined,
  );
  return Object.fromEntries(stored) as Key;
}

/** Returns the key with `field` set to `at`, unless the field has an earlier time. */
export function endedKey(key: ApiKey, field: 'revokedAt' | 'expiresAt', at: Date): ApiKey {
  const oldTime = key[field];
  return oldTime !== undefined && oldTime <= at ? key : { ...key, [field]: at };
}

/** A key with a future `revokedAt` is revoked, because the clock of the host that revoked the key may be ahead. */
export function apiKeyState(key: Pick<ApiKey, 'expiresAt' | 'revokedAt'>, now: Date): ApiKeyState {
  if (key.revokedAt !== undefined) return 'revoked';
  // Every comparison with an invalid date is false, so a key with such a date is expired.
  return key.expiresAt === undefined || now < key.expiresAt ? 'active' : 'expired';
}

/** The shortest time between two recorded uses of a key. */
export const USE_INTERVAL_MS = 60_000;

/** Whether to record this use. */
export function isUseDue({ lastUsedAt }: ApiKey, at: Date): boolean {
  return lastUsedAt === undefined || at.getTime() - lastUsedAt.getTime() >= USE_INTERVAL_MS;
}

function optional(isObeyed: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === undefined || isObeyed(value);
}

function matches(pattern: RegExp): (value: unknown) => boolean {
  return (value) => typeof value === 'string' && pattern.test(value);
}

function areScopes(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((scope) => (SCOPES as readonly unknown[]).includes(scope))
  );
}

function isInstant(value: unknown): value is Date {
  return value instanceof Date && !Number.isNaN(value.getTime());
}

function isRateLimit(value: unknown): boolean {
  const { requests, seconds } = (value ?? {}) as Partial<Record<keyof RateLimit, unknown>>;
  return isWithin(requests, RATE_LIMIT_MAX.requests) && isWithin(seconds, RATE_LIMIT_MAX.seconds);
}

function isWithin(value: unknown, max: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max;
}
