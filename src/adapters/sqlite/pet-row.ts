import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { DamagedPet } from '../../application/pets/errors.ts';
import { parseStoredIdempotency, parseStoredPet } from '../../application/pets/parse-stored-pet.ts';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import type { Idempotency } from '../../application/ports/pet-repository.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import { blobToHash, hashToBlob, idempotencyChecksum, isChecksum, petChecksum } from './checksum.ts';

const FIELD_COLUMNS: Record<keyof NewPet, string> = {
  name: 'name',
  categoryId: 'category_id',
  status: 'status',
};

/** The columns of a {@link PetRow}. */
export const PET_COLUMNS = ['id', ...Object.values(FIELD_COLUMNS), 'checksum'].join(', ');

/** The columns of an {@link ArchivedPetRow}. */
export const ARCHIVE_COLUMNS = `${PET_COLUMNS}, idempotency_key, fingerprint, idempotency_checksum`;

/**
 * The id is always an integer, because it is the rowid, and `readBigInts` keeps it exact. STRICT and the checks of the
 * table guarantee the other types when a row is written. A damaged file may hold anything.
 */
export type PetRow = readonly [
  id: bigint,
  name: unknown,
  categoryId: unknown,
  status: unknown,
  checksum: unknown,
];

export type ArchivedPetRow = readonly [
  ...pet: PetRow,
  idempotencyKey: unknown,
  fingerprint: unknown,
  idempotencyChecksum: unknown,
];

type ValuesOf<Row> = { readonly [Column in keyof Row]: SQLInputValue };

/** The row of a pet. */
export function toPetValues(pet: Pet, idempotency: Idempotency | undefined): ValuesOf<ArchivedPetRow> {
  const { id, name, categoryId, status } = pet;
  const checksum = petChecksum(id, pet);
  if (idempotency === undefined) return [id, name, categoryId, status, checksum, null, null, null];
  const { key, fingerprint } = idempotency;
  const keyChecksum = idempotencyChecksum(id, key, fingerprint);
  return [id, name, categoryId, status, checksum, hashToBlob(key), hashToBlob(fingerprint), keyChecksum];
}

/** Node replaces bytes that are not UTF-8 with this character. */
const REPLACEMENT = '\ufffd';

const CHECKSUM = 'its fields must match its checksum';
const IDEMPOTENCY_CHECKSUM = 'its idempotency key and fingerprint must match their checksum';

export type PetReader = {
  /** @throws {DamagedPet} */
  readonly toPet: (row: PetRow) => Pet;
  /** @throws {DamagedPet} */
  readonly toArchivedPet: (row: ArchivedPetRow) => ArchivedPet;
};

/** Turns rows into pets and checks them again: the rules of the table do not protect a row from a failing disk. */
export function petReader(db: DatabaseSync): PetReader {
  // The stored bytes, whatever their type.
  const nameBytes = db.prepare('SELECT CAST(name AS BLOB) AS bytes FROM pets WHERE id = ?');

  /** A second read, needed only for the few names with the replacement character. */
  function refuseInvalidUtf8(id: bigint, name: string): void {
    const { bytes } = nameBytes.get(id) as { bytes: Uint8Array };
    if (!Buffer.from(name).equals(bytes)) throw new DamagedPet(id, 'name must be UTF-8');
  }

  function toPet([id, name, categoryId, status, checksum]: PetRow | ArchivedPetRow): Pet {
    const pet = parseStoredPet(id, { name, categoryId, status });
    if (pet.name.includes(REPLACEMENT)) refuseInvalidUtf8(id, pet.name);
    if (!isChecksum(checksum, petChecksum(id, pet))) throw new DamagedPet(id, CHECKSUM);
    return pet;
  }

  function toArchivedPet(row: ArchivedPetRow): ArchivedPet {
    const [key, fingerprint, checksum] = row.slice(-3);
    const pet = parseStoredIdempotency(
      toPet(row),
      blobToHash(key) ?? undefined,
      blobToHash(fingerprint) ?? undefined,
    );
    const { id, idempotency } = pet;
    const expected = idempotency && idempotencyChecksum(id, idempotency.key, idempotency.fingerprint);
    if (!isChecksum(checksum, expected)) throw new DamagedPet(id, IDEMPOTENCY_CHECKSUM);
    return pet;
  }

  return { toPet, toArchivedPet };
}
