import { expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { PetNotFound } from '../../../src/application/pets/errors.ts';
import { GetPet } from '../../../src/application/pets/get-pet.ts';
import { INT64_MIN } from '../../../src/domain/pet.ts';
import { aPet } from '../../support/pets.ts';

it('GetPet returns the pet with the id', async () => {
  const pets = new InMemoryPetRepository();
  for (const name of ['Rex', 'Tom', 'Ada']) await pets.insert(aPet({ name, categoryId: INT64_MIN }));
  const pet = await new GetPet(pets).execute(2n);
  expect(pet).toStrictEqual({ id: 2n, ...aPet({ name: 'Tom', categoryId: INT64_MIN }) });
});

it.each([2n, INT64_MIN])('GetPet rejects the unknown id %d', async (id) => {
  const pets = new InMemoryPetRepository();
  await pets.insert(aPet({ categoryId: 1n }));
  await expect(new GetPet(pets).execute(id)).rejects.toStrictEqual(new PetNotFound(id));
});
