import { type NewPet, type Pet, petIdProblem, petProblems, petWithId } from '../../domain/pet.ts';
import { isSha256, SHA_256_RULE } from '../../domain/sha-256.ts';
import type { ArchivedPet } from '../ports/pet-archive.ts';
import { DamagedPet } from './errors.ts';

/** @throws {DamagedPet} with the first rule that the record breaks */
export function parseStoredPet(id: bigint, fields: Record<keyof NewPet, unknown>): Pet {
  const idProblem = petIdProblem(id);
  if (idProblem !== undefined) throw new DamagedPet(id, `id ${idProblem}`);
  const [problem] = petProblems(fields);
  if (problem !== undefined) throw new DamagedPet(id, problem);
  return petWithId(id, fields as NewPet);
}

/**
 * A record has an idempotency key and a fingerprint, or neither of them.
 *
 * @throws {DamagedPet}
 */
export function parseStoredIdempotency(pet: Pet, key: unknown, fingerprint: unknown): ArchivedPet {
  if (key === undefined && fingerprint === undefined) return pet;
  if (!isSha256(key)) throw new DamagedPet(pet.id, `idempotency key ${SHA_256_RULE}`);
  if (!isSha256(fingerprint)) throw new DamagedPet(pet.id, `fingerprint ${SHA_256_RULE}`);
  return Object.freeze({ ...pet, idempotency: Object.freeze({ key, fingerprint }) });
}

export function isDamaged(parse: () => Pet): boolean {
  try {
    parse();
    return false;
  } catch (error) {
    if (error instanceof DamagedPet) return true;
    throw error;
  }
}

/**
 * @param records in the order that the storage returned
 * @param after the ids of all records must be greater
 * @throws {DamagedPet} for the first record that is damaged or out of order, with the pets before that record
 */
export function parseStoredPage<T, P extends Pet>(
  records: readonly T[],
  after: bigint,
  parse: (record: T) => P,
): readonly P[] {
  const pets: P[] = [];
  let lastId = after;
  try {
    for (const record of records) {
      const pet = parse(record);
      if (pet.id <= lastId) {
        throw new DamagedPet(pet.id, `id must be greater than ${lastId}, which comes before it`);
      }
      lastId = pet.id;
      pets.push(pet);
    }
  } catch (error) {
    if (error instanceof DamagedPet) throw new DamagedPet(error.id, error.problem, pets);
    throw error;
  }
  return pets;
}
