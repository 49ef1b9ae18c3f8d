import {
  MAX_PET_ID,
  type NewPet,
  type Pet,
  storedPet,
  storedPetProblem,
  type StoredFields,
} from '../../domain/pet.ts';
import { DamagedPet } from './errors.ts';
import type { ArchivedPet } from '../ports/pet-archive.ts';

const SHA_256 = /^[0-9a-f]{64}$/;

/**
 * The pet that a storage holds under an id.
 *
 * @throws {DamagedPet}
 */
export function petFromStorage(id: bigint, fields: StoredFields): Pet {
  const problem =
    id < 1n || id > MAX_PET_ID ? `id must be an integer from 1 to ${MAX_PET_ID}` : storedPetProblem(fields);
  if (problem !== undefined) throw new DamagedPet(id, problem);
  return storedPet(id, fields as NewPet);
}

/**
 * A page of what a storage holds, in the order in which it gave it.
 *
 * @param after less than the first id
 * @throws {DamagedPet} with the pets before the first that is damaged, or whose id does not ascend
 */
export function pageFromStorage<T, P extends Pet>(
  held: readonly T[],
  after: bigint,
  toPet: (one: T) => P,
): readonly P[] {
  const pets: P[] = [];
  let last = after;
  try {
    for (const one of held) {
      const pet = toPet(one);
      if (pet.id <= last)
        throw new DamagedPet(pet.id, `id must be greater than ${last}, which comes before it`);
      last = pet.id;
      pets.push(pet);
    }
  } catch (error) {
    if (error instanceof DamagedPet) throw new DamagedPet(error.id, error.problem, pets);
    throw error;
  }
  return pets;
}

/**
 * The pet with what its insert was made safe to repeat with.
 *
 * @param key `undefined` where the storage holds none, and then so must the fingerprint be
 * @throws {DamagedPet}
 */
export function archivedFromStorage(pet: Pet, key: unknown, fingerprint: unknown): ArchivedPet {
  if (key === undefined && fingerprint === undefined) return pet;
  if (!isSha256(key)) throw new DamagedPet(pet.id, 'idempotency key must be 64 lower-case hex digits');
  if (!isSha256(fingerprint)) throw new DamagedPet(pet.id, 'fingerprint must be 64 lower-case hex digits');
  return Object.freeze({ ...pet, idempotency: Object.freeze({ key, fingerprint }) });
}

function isSha256(value: unknown): value is string {
  return typeof value === 'string' && SHA_256.test(value);
}
