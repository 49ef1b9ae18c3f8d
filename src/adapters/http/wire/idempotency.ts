import { hash } from 'node:crypto';
import type { ParameterizedContext } from 'koa';
import type { Idempotency } from '../../../application/ports/pet-repository.ts';
import type { PetDraft } from '../../../domain/pet.ts';
import type { State } from './answer.ts';
import { RequestRefused } from './errors.ts';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from './limits.ts';

/** A string of structured fields (RFC 9651, section 3.3.3), or the same without quotes and without spaces. */
const FORM = /^(?:"((?:[ !#-[\]-~]|\\["\\])+)"|([!#-~]+))$/;

/**
 * What makes createPet safe to repeat: that it comes with the same Idempotency-Key, by the same API key, for the same
 * pet. The quoted and the bare form of a key are the same key: draft-ietf-httpapi-idempotency-key-header.
 *
 * @returns `undefined` when the request has no such header
 * @throws {RequestRefused} INVALID_IDEMPOTENCY_KEY
 */
export function idempotency(ctx: ParameterizedContext<State>, draft: PetDraft): Idempotency | undefined {
  const header = ctx.req.headers['idempotency-key'];
  if (header === undefined) return undefined;
  const [, quoted, bare] = FORM.exec(String(header)) ?? [];
  const key = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare;
  if (key === undefined || key.length > MAX_IDEMPOTENCY_KEY_LENGTH) {
    throw new RequestRefused(
      'INVALID_IDEMPOTENCY_KEY',
      `Idempotency-Key must be 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters, bare or in double quotes`,
    );
  }
  const { name, categoryId, status } = draft;
  return {
    key: sha256([ctx.state.caller?.id, 'POST /v1/pets', key]),
    fingerprint: sha256([name, String(categoryId), status]),
  };
}

function sha256(parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts), 'hex');
}
