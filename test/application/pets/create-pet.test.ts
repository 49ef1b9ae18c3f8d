import { describe, expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { CreatePet } from '../../../src/application/pets/create-pet.ts';
import { PetIdsExhausted } from '../../../src/application/pets/errors.ts';
import { InvalidPet, MAX_PET_ID } from '../../../src/domain/pet.ts';
import { idempotencyFor, petsAfter } from '../../support/archived-pets.ts';

const draft = { name: 'Rex', categoryId: 7n, status: 'pending' } as const;

describe('CreatePet', () => {
  it('stores a pet and returns it with its new id', async () => {
    const pets = new InMemoryPetRepository();
    const created = await new CreatePet(pets).execute(draft);
    expect(created).toStrictEqual({ pet: { id: 1n, ...draft }, replayed: false });
    expect(await pets.findById(1n)).toStrictEqual(created.pet);
  });

  it('stores a pet without a status as available', async () => {
    const pets = new InMemoryPetRepository();
    await new CreatePet(pets).execute({ name: 'Rex', categoryId: 7n });
    expect(await pets.findById(1n)).toStrictEqual({ id: 1n, ...draft, status: 'available' });
  });

  it('creates two pets from two equal drafts: a name is not unique', async () => {
    const createPet = new CreatePet(new InMemoryPetRepository());
    const ids = [(await createPet.execute(draft)).pet.id, (await createPet.execute(draft)).pet.id];
    expect(ids).toStrictEqual([1n, 2n]);
  });

  it('rejects an invalid draft, and neither stores it nor uses an id', async () => {
    const pets = new InMemoryPetRepository();
    const createPet = new CreatePet(pets);
    const refused = createPet.execute({ ...draft, name: '' });
    await expect(refused).rejects.toThrow(InvalidPet);
    expect(await pets.list({ limit: 1 })).toStrictEqual([]);
    expect((await createPet.execute(draft)).pet.id).toBe(1n);
  });

  it('creates one pet for repeated calls with an idempotency key', async () => {
    const pets = new InMemoryPetRepository();
    const createPet = new CreatePet(pets);
    const idempotency = idempotencyFor('a');
    const pet = { id: 1n, ...draft };
    expect(await createPet.execute(draft, idempotency)).toStrictEqual({ pet, replayed: false });
    expect(await createPet.execute(draft, idempotency)).toStrictEqual({ pet, replayed: true });
    expect(await pets.list({ limit: 2 })).toStrictEqual([pet]);
  });

  it('rejects when no id is left', async () => {
    const createPet = new CreatePet(await petsAfter(MAX_PET_ID - 1n));
    expect((await createPet.execute(draft)).pet.id).toBe(MAX_PET_ID);
    await expect(createPet.execute(draft)).rejects.toThrow(PetIdsExhausted);
  });
});
