import { expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { DamagedPet, InvalidPageSize } from '../../../src/application/pets/errors.ts';
import { ListPets, type PageRequest } from '../../../src/application/pets/list-pets.ts';
import { parseStoredPage, parseStoredPet } from '../../../src/application/pets/parse-stored-pet.ts';
import type { PetQuery } from '../../../src/application/ports/pet-repository.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { type Pet, PET_STATUSES } from '../../../src/domain/pet.ts';
import { aPet, FailingPetRepository } from '../../support/pets.ts';

/** Returns a catalogue with this number of pets. Their statuses rotate: available, pending, sold. */
async function catalogue(size: number): Promise<InMemoryPetRepository> {
  const pets = new InMemoryPetRepository();
  for (let i = 0; i < size; i++) {
    await pets.insert(aPet({ name: `pet ${i + 1}`, status: PET_STATUSES[i % 3]! }));
  }
  return pets;
}

type ListedIds = { readonly ids: readonly number[]; readonly next?: bigint };

async function idsOf(pets: InMemoryPetRepository, request: PageRequest): Promise<ListedIds> {
  const { pets: found, ...rest } = await new ListPets(pets).execute(request);
  return { ids: found.map(({ id }) => Number(id)), ...rest };
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

it.each<[description: string, size: number, request: PageRequest, expected: ListedIds]>([
  ['no pet', 0, {}, { ids: [] }],
  ['fewer than the 20 of a page', 19, {}, { ids: upTo(19) }],
  ['exactly a page', 20, {}, { ids: upTo(20) }],
  ['one more than a page', 21, {}, { ids: upTo(20), next: 20n }],
  ['the smallest page', 101, { limit: 1 }, { ids: [1], next: 1n }],
  ['the greatest page', 101, { limit: 100 }, { ids: upTo(100), next: 100n }],
  ['all pets with a status', 9, { status: 'pending' }, { ids: [2, 5, 8] }],
  ['some of the pets with a status', 9, { status: 'sold', limit: 2 }, { ids: [3, 6], next: 6n }],
  // Pets 7 and 8 also follow pet 6.
  ['the last pet with a status', 9, { status: 'sold', limit: 1, after: 6n }, { ids: [9] }],
])(
  'ListPets returns the pets of a page and the start of the next page: %s',
  async (_, size, request, expected) => {
    expect(await idsOf(await catalogue(size), request)).toStrictEqual(expected);
  },
);

it.each([0, 101, 1.5, Number.NaN])('ListPets rejects the limit %d', async (limit) => {
  await expect(new ListPets(await catalogue(1)).execute({ limit })).rejects.toStrictEqual(
    new InvalidPageSize(),
  );
});

/** Returns a catalogue of six pets. The record of the pet with this id is damaged. */
async function catalogueWithDamage(id: bigint): Promise<InMemoryPetRepository> {
  class Damaged extends InMemoryPetRepository {
    override async list(query: PetQuery): Promise<readonly Pet[]> {
      return parseStoredPage(await super.list(query), query.after ?? 0n, (pet) =>
        parseStoredPet(pet.id, pet.id === id ? { ...pet, status: 'damaged' } : pet),
      );
    }
  }
  const pets = new Damaged();
  for (let n = 1; n <= 6; n++) await pets.insert(aPet({ name: `pet ${n}` }));
  return pets;
}

it('ListPets rejects a page that starts with a damaged pet', async () => {
  const list = new ListPets(await catalogueWithDamage(3n));
  const expected = { kind: 'damaged-pet', id: 3n, before: [] };
  await expect(list.execute({ limit: 2, after: 2n })).rejects.toMatchObject(expected);
  await expect(list.execute({ limit: 1, after: 2n })).rejects.toMatchObject(expected);
});

it('ListPets ends a page before a damaged pet, and pages that continue after this pet contain every other pet once', async () => {
  for (const [damagedId, limit] of [1n, 3n, 6n].flatMap((id) =>
    [1, 2, 3, 5, 20].map((size) => [id, size] as const),
  )) {
    const pets = await catalogueWithDamage(damagedId);
    const walk: (number | string)[] = [];
    for (let after: bigint | undefined = 0n; after !== undefined; ) {
      try {
        const { ids, next }: ListedIds = await idsOf(pets, { limit, after });
        walk.push(...ids);
        after = next;
      } catch (error) {
        if (!(error instanceof DamagedPet)) throw error;
        walk.push(`damaged ${error.id}`);
        after = error.id;
      }
    }
    expect(walk).toStrictEqual(upTo(6).map((id) => (BigInt(id) === damagedId ? `damaged ${id}` : id)));
  }
});

it('ListPets rejects with the unchanged error of the storage, unless that is a DamagedPet', async () => {
  const gone = new StorageUnavailable('gone');
  await expect(new ListPets(new FailingPetRepository(gone)).execute({})).rejects.toBe(gone);
});
