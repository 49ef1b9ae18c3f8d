import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import type { PetDraft } from '../../../src/domain/pet.ts';
import { type Api, startApi } from '../../support/http.ts';
import { insertPets } from '../../support/pets.ts';

/** Starts the service with a storage in memory. The storage has one pet for each of `fieldSets`. */
export async function apiWithPets(
  fieldSets: readonly Partial<PetDraft>[],
  options: Parameters<typeof startApi>[0] = {},
): Promise<Api> {
  const pets = new InMemoryPetRepository();
  await insertPets(pets, ...fieldSets);
  return startApi({ ...options, pets });
}
