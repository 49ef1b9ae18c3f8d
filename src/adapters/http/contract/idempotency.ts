import { MAX_IDEMPOTENCY_KEY_LENGTH } from './limits.ts';
import { INVALID_IDEMPOTENCY_KEY } from './refusals.ts';

/** A string of structured fields (RFC 9651, section 3.3.3), or the same without quotes and spaces. */
const FORM = /^(?:"((?:[ !#-[\]-~]|\\["\\])+)"|([!#-~]+))$/;

/**
 * Identifies a request by its `Idempotency-Key`, the API key and the operation. The quoted and the bare form of an
 * `Idempotency-Key` are the same key: draft-ietf-httpapi-idempotency-key-header.
 *
 * @param header the value of `Idempotency-Key`
 * @param originId of the API key, or its id where it has none
 * @param operation method and path, such as `POST /v1/pets`
 * @returns `undefined` when there is no such header. Every stored key is a hash of such a text
 * @throws {RequestRefused} INVALID_IDEMPOTENCY_KEY
 */
export function idempotencyKey(header: string | string[] | undefined, originId: string, operation: string) {
  if (header === undefined) return undefined;
  const [, quoted, bare] = FORM.exec(String(header)) ?? [];
  const key = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare;
  if (key === undefined || key.length > MAX_IDEMPOTENCY_KEY_LENGTH) throw INVALID_IDEMPOTENCY_KEY;
  return JSON.stringify([originId, operation, key]);
}
