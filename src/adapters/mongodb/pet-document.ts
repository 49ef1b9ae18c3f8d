import { BSON, type Filter, type FindOptions, Long, UUID } from 'mongodb';
import { DamagedPet } from '../../application/pets/errors.ts';
import { parseStoredIdempotency, parseStoredPet } from '../../application/pets/parse-stored-pet.ts';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import type { Idempotency } from '../../application/ports/pet-repository.ts';
import { MAX_PET_ID, type NewPet, type Pet } from '../../domain/pet.ts';
import { isLong, toBigInt, toLong } from './int64.ts';
import type { FenceDocument, PetDocument } from './schema/collections.ts';

const MAX_ID = toLong(MAX_PET_ID);

/** A document whose fields may be damaged. Its `_id` is not, because an `_id` cannot change. */
export type StoredPetDocument = { readonly [K in keyof (PetDocument & FenceDocument)]?: unknown };

export const PET_FIELDS = { name: 1, categoryId: 1, status: 1 } as const satisfies Record<keyof NewPet, 1>;

/** Matches longs from 1 to 2^53 - 1. The service has never acknowledged a pet with another `_id`. */
export function petIds({ after = 0n, upTo = MAX_PET_ID }: { after?: bigint; upTo?: bigint }) {
  const $gt = toLong(after < 0n ? 0n : after);
  const $lte = upTo < MAX_PET_ID ? toLong(upTo) : MAX_ID;
  return { _id: { $gt, $lte, $type: 'long' } } as const satisfies Filter<PetDocument>;
}

/** In ascending order of id, in one round trip. */
export function page(limit: number) {
  return {
    sort: { _id: 1 },
    limit,
    // By default, the single batch would end after 101 documents.
    batchSize: limit,
    singleBatch: true,
  } as const satisfies FindOptions;
}

/**
 * @param document whose `_id` {@link hasPetId} accepts
 * @throws {DamagedPet}
 */
export function toPet({ _id, name, categoryId, status }: StoredPetDocument): Pet {
  const fields = { name, categoryId: isLong(categoryId) ? toBigInt(categoryId) : categoryId, status };
  return parseStoredPet(toBigInt(_id as Long), fields);
}

/**
 * @param document whose `_id` {@link hasPetId} accepts
 * @throws {DamagedPet}
 */
export function toArchivedPet(document: StoredPetDocument): ArchivedPet {
  const pet = toPet(document);
  const { idem } = document;
  if (idem === undefined) return pet;
  // If `idem` is not an object, both hashes are `null`, and `parseStoredIdempotency` refuses `null`.
  const { k = null, fp = null } = (idem ?? {}) as { readonly k?: unknown; readonly fp?: unknown };
  return parseStoredIdempotency(pet, k, fp);
}

/** @throws {RangeError} if an integer is not an int64 */
export function toPetDocument(
  { id, name, categoryId, status }: Pet,
  idempotency: Idempotency | undefined,
  insertToken?: UUID,
): PetDocument {
  return {
    _id: toLong(id),
    name,
    categoryId: toLong(categoryId),
    status,
    ...(insertToken !== undefined && { op: insertToken }),
    ...(idempotency !== undefined && { idem: { k: idempotency.key, fp: idempotency.fingerprint } }),
  };
}

export function isWrittenBy(insertToken: UUID, { op }: StoredPetDocument): boolean {
  return op instanceof UUID && op.equals(insertToken);
}

export function isFence(document: StoredPetDocument): boolean {
  return !isLong(document._id) && 'upTo' in document;
}

/**
 * For a document that was found without {@link petIds}: other filters on `_id` match equal numbers of any type,
 * https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
 */
export function hasPetId({ _id }: StoredPetDocument): boolean {
  return isLong(_id) && _id.greaterThan(Long.ZERO) && _id.lessThanOrEqual(MAX_ID);
}

/** The type of an int64 and the name `_id`, as BSON: https://bsonspec.org/spec.html */
const LONG_ID = Buffer.from('\u0012_id\0');
/** `_id` is always the first field. An int32, the length of the document, comes before. */
const LONG_ID_AT = 4;

/** @returns `undefined` if no pet can have the `_id` */
export function petIdIn(bytes: Uint8Array): bigint | undefined {
  const document = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = LONG_ID_AT + LONG_ID.length;
  if (LONG_ID.compare(document, LONG_ID_AT, end) !== 0) return undefined;
  const id = document.readBigInt64LE(end);
  return id >= 1n && id <= MAX_PET_ID ? id : undefined;
}

/**
 * The driver would decode the whole reply, and one invalid text would then fail all pets in the reply.
 *
 * @param bytes of a document for which {@link petIdIn} returns an id
 * @throws {DamagedPet}
 */
export function decodePet(bytes: Uint8Array): Pet {
  try {
    return toPet(BSON.deserialize(bytes, { promoteLongs: false }));
  } catch (error) {
    if (!(error instanceof BSON.BSONError)) throw error;
    throw new DamagedPet(petIdIn(bytes) ?? 0n, 'text must be UTF-8');
  }
}
