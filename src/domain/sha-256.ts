const SHA_256_PATTERN = /^[0-9a-f]{64}$/;

/** A phrase that follows the name of the value. */
export const SHA_256_RULE = 'must be 64 lower-case hex digits';

export function isSha256(value: unknown): value is string {
  return typeof value === 'string' && SHA_256_PATTERN.test(value);
}
