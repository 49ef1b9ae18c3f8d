import { describe, expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { DamagedPet, InvalidPageSize } from '../../../src/application/pets/errors.ts';
import { ListPets, type PageRequest } from '../../../src/application/pets/list-pets.ts';
import { parseStoredPage, parseStoredPet } from '../../../src/application/pets/parse-stored-pet.ts';
import type { PetQuery } from '../../../src/application/ports/pet-repository.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { newPet, type Pet, PET_STATUSES } from '../../../src/domain/pet.ts';
import { FailingPetRepository } from '../../support/pets.ts';

/** A catalogue of this many pets. Their statuses rotate: available, pending, sold. */
async function catalogue(size: number): Promise<InMemoryPetRepository> {
  const pets = new InMemoryPetRepository();
  for (let i = 0; i < size; i++) {
    await pets.insert(newPet({ name: `pet ${i + 1}`, categoryId: 1n, status: PET_STATUSES[i % 3] }));
  }
  return pets;
}

async function idsOf(
  pets: InMemoryPetRepository,
  request: PageRequest,
): Promise<{ ids: number[]; next: bigint | undefined; hasNext: boolean }> {
  const page = await new ListPets(pets).execute(request);
  return { ids: page.pets.map(({ id }) => Number(id)), next: page.next, hasNext: 'next' in page };
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

describe('ListPets', () => {
  it('returns whole pets', async () => {
    const page = await new ListPets(await catalogue(1)).execute({});
    expect(page).toStrictEqual({
      pets: [{ id: 1n, name: 'pet 1', categoryId: 1n, status: 'available' }],
    });
  });

  it.each([
    ['none', 0, [], undefined],
    ['fewer than a page', 19, upTo(19), undefined],
    ['exactly a page', 20, upTo(20), undefined],
    ['one more than a page', 21, upTo(20), 20n],
  ])('returns up to 20 pets by default, from %s', async (_what, size, ids, next) => {
    const page = await idsOf(await catalogue(size), {});
    expect(page).toStrictEqual({ ids, next, hasNext: next !== undefined });
  });

  it('accepts a limit from 1 to 100', async () => {
    const pets = await catalogue(101);
    expect(await idsOf(pets, { limit: 1 })).toStrictEqual({ ids: [1], next: 1n, hasNext: true });
    expect(await idsOf(pets, { limit: 100 })).toStrictEqual({ ids: upTo(100), next: 100n, hasNext: true });
  });

  it.each([0, -1, 101, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('rejects the limit %d', async (limit) => {
    await expect(new ListPets(await catalogue(1)).execute({ limit })).rejects.toStrictEqual(
      new InvalidPageSize({ min: 1, max: 100 }),
    );
  });

  it('returns only pets with the status, and a next page only when another such pet follows', async () => {
    const pets = await catalogue(9);
    expect(await idsOf(pets, { status: 'pending' })).toStrictEqual({
      ids: [2, 5, 8],
      next: undefined,
      hasNext: false,
    });
    expect(await idsOf(pets, { status: 'sold', limit: 2 })).toStrictEqual({
      ids: [3, 6],
      next: 6n,
      hasNext: true,
    });
    // Pet 9 is the last sold one. Pets 7 and 8 also follow pet 6.
    expect(await idsOf(pets, { status: 'sold', limit: 1, after: 6n })).toStrictEqual({
      ids: [9],
      next: undefined,
      hasNext: false,
    });
  });

  describe('where a pet is damaged', () => {
    /** Six pets, one of them with a damaged record. */
    async function damaged(id: bigint): Promise<InMemoryPetRepository> {
      class Damaged extends InMemoryPetRepository {
        override async list(query: PetQuery): Promise<readonly Pet[]> {
          return parseStoredPage(await super.list(query), query.after ?? 0n, (pet) =>
            parseStoredPet(pet.id, pet.id === id ? { ...pet, status: 'damaged' } : pet),
          );
        }
      }
      const pets = new Damaged();
      for (let n = 1; n <= 6; n++) await pets.insert(newPet({ name: `pet ${n}`, categoryId: 1n }));
      return pets;
    }

    it.each([
      ['in the middle of the page', 5, 3n, [1, 2], 2n],
      ['the last of the page', 3, 3n, [1, 2], 2n],
      ['the first of the next page', 2, 3n, [1, 2], 2n],
      ['after the next page', 1, 3n, [1], 1n],
      ['the last of all', 20, 6n, [1, 2, 3, 4, 5], 5n],
    ])('ends the page before it: %s', async (_what, limit, id, ids, next) => {
      expect(await idsOf(await damaged(id), { limit })).toStrictEqual({ ids, next, hasNext: true });
    });

    it('rejects a page that starts with it', async () => {
      const list = new ListPets(await damaged(3n));
      const expected = { kind: 'damaged-pet', id: 3n, before: [] };
      await expect(list.execute({ limit: 2, after: 2n })).rejects.toMatchObject(expected);
      await expect(list.execute({ limit: 1, after: 2n })).rejects.toMatchObject(expected);
    });

    it('returns every other pet exactly once to a walk that continues after it', async () => {
      for (const damagedId of [1n, 3n, 6n]) {
        const pets = await damaged(damagedId);
        const walk: (number | string)[] = [];
        for (let after: bigint | undefined = 0n; after !== undefined; ) {
          try {
            const { ids, next }: { ids: number[]; next: bigint | undefined } = await idsOf(pets, {
              limit: 2,
              after,
            });
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
  });

  it('passes on every other error', async () => {
    const gone = new StorageUnavailable('gone');
    await expect(new ListPets(new FailingPetRepository(gone)).execute({})).rejects.toBe(gone);
  });
});
