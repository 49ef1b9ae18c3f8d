import type { DatabaseSync } from 'node:sqlite';
import { DamagedPet } from '../../application/pets/errors.ts';
import { parseStoredIdempotency, parseStoredPet } from '../../application/pets/parse-stored-pet.ts';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import type { Pet } from '../../domain/pet.ts';
import { blobToHash } from './blobs.ts';
import { idempotencyChecksum, isChecksum, petChecksum } from './checksum.ts';
import { type ArchivedPetRow, NAME_BYTES, type PetRow } from './statements.ts';

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
  const nameBytes = db.prepare(NAME_BYTES);

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
    const [id, , , , , key, fingerprint, checksum] = row;
    const pet = parseStoredIdempotency(
      toPet(row),
      blobToHash(key) ?? undefined,
      blobToHash(fingerprint) ?? undefined,
    );
    const { idempotency } = pet;
    const expected = idempotency && idempotencyChecksum(id, idempotency.key, idempotency.fingerprint);
    if (!isChecksum(checksum, expected)) throw new DamagedPet(id, IDEMPOTENCY_CHECKSUM);
    return pet;
  }

  return { toPet, toArchivedPet };
}
