import { expect, it } from 'vitest';
import { idempotencyKey } from '../../../src/adapters/http/contract/idempotency.ts';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { CreatePet } from '../../../src/application/pets/create-pet.ts';
import { InvalidPet } from '../../../src/domain/pet.ts';
import { sha256 } from '../../support/archived-pets.ts';
import { aPet } from '../../support/pets.ts';

const draft = aPet({ status: 'pending' });

it('CreatePet stores a pet and returns it with its new id', async () => {
  const pets = new InMemoryPetRepository();
  const created = await new CreatePet(pets, sha256).execute(draft);
  expect(created).toStrictEqual({ pet: { id: 1n, ...draft }, replayed: false });
  expect(await pets.findById(1n)).toStrictEqual(created.pet);
});

it('CreatePet rejects an invalid draft, and neither stores it nor uses an id', async () => {
  const pets = new InMemoryPetRepository();
  const createPet = new CreatePet(pets, sha256);
  const refused = createPet.execute({ ...draft, name: '' });
  await expect(refused).rejects.toThrow(InvalidPet);
  expect(await pets.list({ limit: 1 })).toStrictEqual([]);
  expect((await createPet.execute(draft)).pet.id).toBe(1n);
});

// They are the hashes of ["an-id","POST /v1/pets","a-key"] and of ["Rex","7","available"].
it('CreatePet stores the same hashes for an idempotency key as every earlier build', async () => {
  const pets = new InMemoryPetRepository();
  const key = idempotencyKey('a-key', 'an-id', 'POST /v1/pets');
  await new CreatePet(pets, sha256).execute({ name: 'Rex', categoryId: 7n }, key);
  const [{ idempotency } = {}] = await pets.read(0n, 1);
  expect(idempotency).toStrictEqual({
    key: 'ad5aa89ade9660588fc57026e7b4e27f286d7a33a7b1e623514f6e32bb44a02a',
    fingerprint: 'ae9791c98586fe8f6e42e7d663537b0629e73d975919f1626b7fab7bbfe28ac6',
  });
});
