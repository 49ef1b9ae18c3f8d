import { MAX_IDEMPOTENCY_KEY_LENGTH } from './limits.ts';
import { INVALID_IDEMPOTENCY_KEY } from './refusals.ts';

/** A key in double quotes (a string of RFC 9651, section 3.3.3), or a bare key without spaces. */
const HEADER_FORM = /^(?:"((?:[ !#-[\]-~]|\\["\\])+)"|([!#-~]+))$/;

/**
 * A quoted key equals the same key without quotes: draft-ietf-httpapi-idempotency-key-header.
 *
 * @param originId the id of the API key, or of the key with which its rotations began
 * @param operation the method and the path, such as `POST /v1/pets`
 * @returns a text whose form must not change, because the storage has hashes of it. Without the header, `undefined`
 * @throws {RequestRefused} INVALID_IDEMPOTENCY_KEY
 */
export function idempotencyKey(header: string | string[] | undefined, originId: string, operation: string) {
  if (header === undefined) return undefined;
  const [, quoted, bare] = HEADER_FORM.exec(String(header)) ?? [];
  const key = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare;
  if (key === undefined || key.length > MAX_IDEMPOTENCY_KEY_LENGTH) throw INVALID_IDEMPOTENCY_KEY;
  return JSON.stringify([originId, operation, key]);
}
