import { hash } from 'node:crypto';
import type { Idempotency } from '../../../application/ports/pet-repository.ts';
import { DEFAULT_PET_STATUS, type NewPet, type PetDraft } from '../../../domain/pet.ts';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from './limits.ts';
import { INVALID_IDEMPOTENCY_KEY } from './refusals.ts';

/** A string of structured fields (RFC 9651, section 3.3.3), or the same without quotes and spaces. */
const FORM = /^(?:"((?:[ !#-[\]-~]|\\["\\])+)"|([!#-~]+))$/;

/**
 * Identifies a createPet request by its `Idempotency-Key`, the API key and the pet. The quoted and the bare form of an
 * `Idempotency-Key` are the same key: draft-ietf-httpapi-idempotency-key-header.
 *
 * @param header the value of `Idempotency-Key`
 * @param originId of the API key, or its id where it has none
 * @returns `undefined` when there is no such header
 * @throws {RequestRefused} INVALID_IDEMPOTENCY_KEY
 */
export function idempotency(
  header: string | readonly string[] | undefined,
  originId: string,
  draft: PetDraft,
): Idempotency | undefined {
  if (header === undefined) return undefined;
  const [, quoted, bare] = FORM.exec(String(header)) ?? [];
  const key = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare;
  if (key === undefined || key.length > MAX_IDEMPOTENCY_KEY_LENGTH) throw INVALID_IDEMPOTENCY_KEY;
  return { key: sha256([originId, 'POST /v1/pets', key]), fingerprint: fingerprint(draft) };
}

/** Every fingerprint that a request can have which creates the pet. */
export function fingerprintsOf({ name, categoryId, status }: NewPet): readonly string[] {
  const given = fingerprint({ name, categoryId, status });
  return status === DEFAULT_PET_STATUS ? [given, fingerprint({ name, categoryId })] : [given];
}

function fingerprint({ name, categoryId, status }: PetDraft): string {
  return sha256([name, String(categoryId), status]);
}

function sha256(parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts), 'hex');
}
