import type { SQLInputValue } from 'node:sqlite';
import { DamagedPet } from '../../application/pets/errors.ts';
import { parseStoredIdempotency, parseStoredPet } from '../../application/pets/parse-stored-pet.ts';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import type { Idempotency } from '../../application/ports/pet-repository.ts';
import type { Pet } from '../../domain/pet.ts';
import { blobToHash, hashToBlob, idempotencyChecksum, isChecksum, petChecksum } from './checksum.ts';

export const PET_COLUMNS = 'id, name, category_id, status, checksum';

export const ARCHIVE_COLUMNS = `${PET_COLUMNS}, idempotency_key, fingerprint, idempotency_checksum`;

/**
 * The id is the rowid, so it is always an integer, and `readBigInts` keeps it exact. A damaged file may hold anything
 * in the other columns.
 */
export type PetRow = readonly [id: bigint, ...columns: unknown[]];

export function toPetValues(pet: Pet, idempotency: Idempotency | undefined): SQLInputValue[] {
  const { id, name, categoryId, status } = pet;
  const checksum = petChecksum(id, pet);
  if (idempotency === undefined) return [id, name, categoryId, status, checksum, null, null, null];
  const { key, fingerprint } = idempotency;
  const keyChecksum = idempotencyChecksum(id, key, fingerprint);
  return [id, name, categoryId, status, checksum, hashToBlob(key), hashToBlob(fingerprint), keyChecksum];
}

/**
 * Checks the row, because the rules of the table do not protect it from a failing disk.
 *
 * @throws {DamagedPet}
 */
export function toPet([id, name, categoryId, status, checksum]: PetRow): Pet {
  const pet = parseStoredPet(id, { name, categoryId, status });
  if (isChecksum(checksum, petChecksum(id, pet))) return pet;
  throw new DamagedPet(id, 'its fields must match its checksum');
}

/** @throws {DamagedPet} */
export function toArchivedPet(row: PetRow): ArchivedPet {
  const [key, fingerprint, checksum] = row.slice(-3);
  const pet = parseStoredIdempotency(toPet(row), blobToHash(key), blobToHash(fingerprint));
  const { id, idempotency } = pet;
  const expected = idempotency && idempotencyChecksum(id, idempotency.key, idempotency.fingerprint);
  if (isChecksum(checksum, expected)) return pet;
  throw new DamagedPet(id, 'its idempotency key and fingerprint must match their checksum');
}
