import { type Filter, Long, UUID } from 'mongodb';
import { parseStoredIdempotency, parseStoredPet } from '../../application/pets/parse-stored-pet.ts';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import { MAX_PET_ID, type Pet } from '../../domain/pet.ts';
import { type PetDocument, toBigInt, toLong } from './schema.ts';

const MAX_ID = toLong(MAX_PET_ID);

/** What a document of the collection may have become since it was stored; an `_id` never changes. */
export type StoredPetDocument = { readonly [K in keyof PetDocument]?: unknown };

/**
 * The documents whose `_id` can be that of a pet: a long from 1 to 2^53 - 1. The service writes no others, and never
 * was one acknowledged as a pet.
 */
export function petIds(range: { readonly after?: bigint; readonly upTo?: bigint }): Filter<PetDocument> {
  const after = toLong(range.after ?? 0n);
  const upTo = toLong(range.upTo ?? MAX_PET_ID);
  return {
    _id: {
      $gt: after.isNegative() ? Long.ZERO : after,
      $lte: upTo.greaterThan(MAX_ID) ? MAX_ID : upTo,
      $type: 'long',
    },
  };
}

/**
 * @param document that {@link hasPetId}
 * @throws {DamagedPet}
 */
export function toPet({ _id, name, categoryId, status }: StoredPetDocument): Pet {
  const fields = { name, categoryId: categoryId instanceof Long ? toBigInt(categoryId) : categoryId, status };
  return parseStoredPet(toBigInt(_id as Long), fields);
}

/** As {@link toPet}. */
export function toArchivedPet(document: StoredPetDocument): ArchivedPet {
  const pet = toPet(document);
  const { idem } = document;
  if (idem === undefined) return pet;
  // What is no object has neither.
  const { k = null, fp = null } = (idem ?? {}) as { readonly k?: unknown; readonly fp?: unknown };
  return parseStoredIdempotency(pet, k, fp);
}

/** Whether the insert with this token has written the document. */
export function isOf(op: UUID, document: StoredPetDocument): boolean {
  return document.op instanceof UUID && document.op.equals(op);
}

/**
 * Whether {@link petIds} would find it, of a document that was asked for otherwise: equal numbers of all types are the
 * same `_id`. https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
 */
export function hasPetId({ _id }: StoredPetDocument): boolean {
  return _id instanceof Long && _id.greaterThan(Long.ZERO) && _id.lessThanOrEqual(MAX_ID);
}
