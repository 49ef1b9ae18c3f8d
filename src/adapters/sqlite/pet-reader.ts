import type { DatabaseSync } from 'node:sqlite';
import { DamagedPet } from '../../application/pets/errors.ts';
import { parseStoredIdempotency, parseStoredPet } from '../../application/pets/parse-stored-pet.ts';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import type { Pet } from '../../domain/pet.ts';
import { type ArchivedRow, NAME_BYTES, type PetRow } from './statements.ts';

/** Node gives this character for bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

export type PetReader = {
  /** @throws {DamagedPet} */
  readonly toPet: (row: PetRow) => Pet;
  /** @throws {DamagedPet} */
  readonly toArchivedPet: (row: ArchivedRow) => ArchivedPet;
};

/** Turns rows into pets. The table's own rules hold for what is written, not for what has become of it on the disk. */
export function petReader(db: DatabaseSync): PetReader {
  const nameBytes = db.prepare(NAME_BYTES);

  /** Only the few names with that character are read again. */
  function refuseMangled(id: bigint, name: string): void {
    const { bytes } = nameBytes.get(id) as { bytes: Uint8Array };
    if (!Buffer.from(name).equals(bytes)) throw new DamagedPet(id, 'name must be UTF-8');
  }

  function toPet({ id, name, category_id: categoryId, status }: PetRow): Pet {
    const pet = parseStoredPet(id, { name, categoryId, status });
    if (pet.name.includes(REPLACEMENT)) refuseMangled(id, pet.name);
    return pet;
  }

  function toArchivedPet(row: ArchivedRow): ArchivedPet {
    return parseStoredIdempotency(toPet(row), hex(row.idempotency_key), hex(row.fingerprint));
  }

  return { toPet, toArchivedPet };
}

/** What is no blob stays what it is, for others to refuse. */
function hex(value: unknown): unknown {
  if (value === null) return undefined;
  return value instanceof Uint8Array ? value.toHex() : value;
}
