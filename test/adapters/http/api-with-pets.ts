import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import type { PetDraft } from '../../../src/domain/pet.ts';
import { type Api, startApi } from '../../support/http.ts';
import { insertPets } from '../../support/pets.ts';

/** Starts the service over a storage in memory that has one pet for each element of `fields`. */
export async function apiWithPets(
  fields: readonly Partial<PetDraft>[],
  options: Parameters<typeof startApi>[0] = {},
): Promise<Api> {
  const pets = new InMemoryPetRepository();
  await insertPets(pets, ...fields);
  return startApi({ ...options, pets });
}
