import { BSON } from 'mongodb';
import { DamagedPet } from '../../application/pets/errors.ts';
import { MAX_PET_ID, type Pet } from '../../domain/pet.ts';
import { type StoredPetDocument, toPet } from './pet-document.ts';

/** The type of an int64 and the name `_id`, as BSON: https://bsonspec.org/spec.html */
const LONG_ID = Buffer.from('\u0012_id\0');
/** Behind the length of the document, an int32. The server keeps `_id` first. */
const LONG_ID_AT = 4;

/** @returns the id in the bytes of a document with `_id`; `undefined` if it cannot be the id of a pet */
export function petIdIn(bytes: Uint8Array): bigint | undefined {
  const document = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = LONG_ID_AT + LONG_ID.length;
  if (LONG_ID.compare(document, LONG_ID_AT, end) !== 0) return undefined;
  const id = document.readBigInt64LE(end);
  return id >= 1n && id <= MAX_PET_ID ? id : undefined;
}

/**
 * Decodes one pet of a reply. The driver would decode all of them: one with invalid text would spoil the whole reply.
 *
 * @param bytes of a document that has a {@link petIdIn}
 * @throws {DamagedPet}
 */
export function decodePet(bytes: Uint8Array): Pet {
  return toPet(decode(bytes));
}

function decode(bytes: Uint8Array): StoredPetDocument {
  try {
    return BSON.deserialize(bytes, { promoteLongs: false });
  } catch (error) {
    if (!(error instanceof BSON.BSONError)) throw error;
    throw new DamagedPet(petIdIn(bytes) ?? 0n, 'text must be UTF-8');
  }
}
