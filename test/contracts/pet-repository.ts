import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { PetIdsExhausted } from '../../src/application/pets/errors.ts';
import type { PetQuery, PetRepository } from '../../src/application/ports/pet-repository.ts';
import {
  INT64_MAX,
  INT64_MIN,
  MAX_PET_ID,
  type NewPet,
  newPet,
  PAGE_SIZE_MAX,
  type Pet,
  PET_NAME_MAX_LENGTH,
  PET_STATUSES,
} from '../../src/domain/pet.ts';
import { inOrderOfId } from '../support/archived-pets.ts';
import { numbers } from '../support/numbers.ts';
import { describeSecondRepository, type Lacks, openSecond } from './second-repository.ts';

export type PetStore = {
  readonly pets: PetRepository;
  /** Opens a second repository on the same store, as another process does. */
  another?(): Promise<PetRepository>;
  close?(): Promise<void>;
};

/**
 * The contract of {@link PetRepository}, except `insertOnce`.
 *
 * @param open opens a new, empty store that has assigned all ids up to `lastId`, 0 when absent
 */
export function petRepositoryContract(
  name: string,
  open: (lastId?: bigint) => Promise<PetStore>,
  lacks: Lacks = {},
): void {
  describe(`PetRepository contract: ${name}`, () => {
    let store: PetStore;
    let pets: PetRepository;

    beforeEach(async () => {
      store = await open();
      pets = store.pets;
    });
    afterEach(async () => store.close?.());

    describe('round trip', () => {
      it.each(PET_STATUSES)('stores a pet that is %s', async (status) => {
        const stored = await pets.insert(newPet({ name: 'Rex', categoryId: 7n, status }));

        const expected = { id: stored.id, name: 'Rex', categoryId: 7n, status };
        expect(stored).toStrictEqual(expected);
        expect(await pets.findById(stored.id)).toStrictEqual(expected);
        expect(await pets.list({ limit: 10 })).toStrictEqual([expected]);
      });

      it('stores the default status', async () => {
        const { id } = await pets.insert(newPet({ name: 'Rex', categoryId: 7n }));

        expect(await pets.findById(id)).toStrictEqual({
          id,
          name: 'Rex',
          categoryId: 7n,
          status: 'available',
        });
      });

      const integers = [
        ['the least int64', INT64_MIN],
        ['one above it', INT64_MIN + 1n],
        ['beyond -2^53', -(2n ** 53n) - 1n],
        ['below int32', -(2n ** 31n) - 1n],
        ['-1', -1n],
        ['0', 0n],
        ['1', 1n],
        ['above int32', 2n ** 31n],
        ['beyond 2^53', 2n ** 53n + 1n],
        ['one below the greatest int64', INT64_MAX - 1n],
        ['the greatest int64', INT64_MAX],
      ] as const;

      it.each(integers)('stores a categoryId exactly: %s', async (_, categoryId) => {
        const stored = await pets.insert(newPet({ name: 'Rex', categoryId }));

        const expected: Pet = { id: stored.id, name: 'Rex', categoryId, status: 'available' };
        expect(stored).toStrictEqual(expected);
        expect(await pets.findById(stored.id)).toStrictEqual(expected);
        expect(await pets.list({ limit: 1 })).toStrictEqual([expected]);
      });

      const names = [
        ['a composed letter', 'Ren\u00e9'],
        ['the same letter, decomposed', 'Rene\u0301'],
        ['a compatibility character', '\ufb01do'],
        ['astral characters', '\u{1f415}\u{1d518}\u{20bb7}'],
        ['an emoji made of several code points', '\u{1f469}\u{1f3fd}\u200d\u{1f4bb}\ufe0f'],
        ['the last code point', 'x\u{10ffff}'],
        ['noncharacters and the replacement character', '\ufffe\uffff\ufffd'],
        ['a byte order mark', '\ufeffRex'],
        ['right-to-left text', '\u202e\u05db\u05dc\u05d1\u202c'],
        ['white space at both ends', '  Rex\u00a0\u2028'],
        ['C1 control characters', 'a\u0080\u009fb'],
        ['query syntax', '$where.{"$gt":""}\'; DROP TABLE pets; --'],
        ['a word of JavaScript', '__proto__'],
        ['a number', '007'],
        ['the longest in bytes', '\u{1f415}'.repeat(PET_NAME_MAX_LENGTH)],
      ] as const;

      it.each(names)('stores a name verbatim: %s', async (_, petName) => {
        const stored = await pets.insert(newPet({ name: petName, categoryId: 7n }));

        const expected = { id: stored.id, name: petName, categoryId: 7n, status: 'available' };
        expect(stored).toStrictEqual(expected);
        expect(await pets.findById(stored.id)).toStrictEqual(expected);
        expect(await pets.list({ limit: 1 })).toStrictEqual([expected]);
      });

      it('stores two pets that differ only in id', async () => {
        const twin = newPet({ name: 'Rex', categoryId: 7n });
        const first = await pets.insert(twin);
        const second = await pets.insert(twin);

        expect(await pets.list({ limit: 10 })).toStrictEqual([
          { id: first.id, ...twin },
          { id: second.id, ...twin },
        ]);
        expect(second.id).not.toBe(first.id);
      });
    });

    describe('ids', () => {
      it('start at 1 and grow', async () => {
        const ids = (await insert(pets, 5)).map(({ id }) => id);

        expect(ids[0]).toBe(1n);
        expect(ids).toStrictEqual(inOrder(ids));
        expect(new Set(ids).size).toBe(5);
      });

      it('are distinct for 50 concurrent inserts, and each caller gets its own pet', async () => {
        const stored = await Promise.all(
          numbers(50).map((n) => pets.insert(newPet({ name: `pet ${n}`, categoryId: BigInt(n) }))),
        );

        expect(stored.map(({ name: petName }) => petName)).toStrictEqual(numbers(50).map((n) => `pet ${n}`));
        expect(new Set(stored.map(({ id }) => id)).size).toBe(50);
        for (const pet of stored) expect(pet.id).toSatisfy((id: bigint) => id >= 1n && id <= MAX_PET_ID);
        expect(await pets.list({ limit: 60 })).toStrictEqual(inOrderOfId(stored));
      });

      it('run out with a clear error, and nothing changes', async () => {
        const last = await opened(await open(MAX_PET_ID - 1n));

        const stored = await last.insert(newPet({ name: 'the last', categoryId: 7n }));
        expect(stored.id).toBe(MAX_PET_ID);
        for (let again = 0; again < 3; again++) {
          await expect(last.insert(newPet({ name: 'one too many', categoryId: 7n }))).rejects.toThrow(
            PetIdsExhausted,
          );
        }
        expect(await last.list({ limit: 10 })).toStrictEqual([stored]);
        expect(await last.findById(MAX_PET_ID)).toStrictEqual(stored);
      });

      it('are all used when concurrent inserts compete for the last ones', async () => {
        const last = await opened(await open(MAX_PET_ID - 3n));

        const outcomes = await Promise.allSettled(
          numbers(10).map((n) => last.insert(newPet({ name: `pet ${n}`, categoryId: 7n }))),
        );

        const stored = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
        const refused = outcomes.flatMap((outcome) =>
          outcome.status === 'rejected' ? [outcome.reason] : [],
        );
        expect(inOrder(stored.map(({ id }) => id))).toStrictEqual([
          MAX_PET_ID - 2n,
          MAX_PET_ID - 1n,
          MAX_PET_ID,
        ]);
        expect(refused).toHaveLength(7);
        for (const error of refused) expect(error).toBeInstanceOf(PetIdsExhausted);
        expect(await last.list({ limit: 10 })).toStrictEqual(inOrderOfId(stored));
      });
    });

    describe('findById', () => {
      it.each([
        ['one above the last', 3n],
        ['0', 0n],
        ['-1', -1n],
        ['the greatest id', MAX_PET_ID],
        ['beyond 2^53', 2n ** 53n + 1n],
        // The lower 32 bits are 1, the id of a stored pet.
        ['2^32 + 1', 2n ** 32n + 1n],
        ['the least int64', INT64_MIN],
        ['the greatest int64', INT64_MAX],
      ])('finds nothing for an unknown id: %s', async (_, id) => {
        await insert(pets, 2);

        expect(await pets.findById(id)).toBeUndefined();
      });

      it('finds nothing in an empty store', async () => {
        expect(await pets.findById(1n)).toBeUndefined();
      });
    });

    describe('list', () => {
      it('is empty for an empty store', async () => {
        expect(await pets.list({ limit: 10 })).toStrictEqual([]);
        expect(await pets.list({ limit: 10, status: 'sold', after: 0n })).toStrictEqual([]);
      });

      it('is in ascending numerical order of id', async () => {
        // Numerical and lexical order differ from 9 to 10 and from 99 to 100.
        const stored = await insert(pets, PAGE_SIZE_MAX + 20);

        expect(await pets.list({ limit: PAGE_SIZE_MAX + 20 })).toStrictEqual(inOrderOfId(stored));
      });
    });

    describe('data isolation', () => {
      it('ignores changes to the passed pet during and after an insert', async () => {
        const mine = { name: 'Rex', categoryId: 7n, status: 'available' as NewPet['status'] };
        const inserting = pets.insert(mine);
        Object.assign(mine, { name: 'Tom', categoryId: 8n, status: 'sold' });

        const stored = await inserting;
        Object.assign(mine, { name: 'Ann', id: 99n });

        const expected = { id: stored.id, name: 'Rex', categoryId: 7n, status: 'available' };
        expect(stored).toStrictEqual(expected);
        expect(await pets.findById(stored.id)).toStrictEqual(expected);
        expect(await pets.list({ limit: 10, status: 'available' })).toStrictEqual([expected]);
        expect(await pets.list({ limit: 10, status: 'sold' })).toStrictEqual([]);
      });

      it('stores no field that a pet does not have', async () => {
        const odd = { ...newPet({ name: 'Rex', categoryId: 7n }), id: 99n, _id: 99n, owner: 'Tom' };

        const stored = await pets.insert(odd);

        const expected = { id: 1n, name: 'Rex', categoryId: 7n, status: 'available' };
        expect(stored).toStrictEqual(expected);
        expect(await pets.findById(1n)).toStrictEqual(expected);
        expect(await pets.findById(99n)).toBeUndefined();
      });

      it('ignores changes to the objects that it returned', async () => {
        const [first, second] = await insert(pets, 2);
        const before = [{ ...first }, { ...second }];

        tamper(first);
        tamper(await pets.findById(1n));
        const page = await pets.list({ limit: 10 });
        tamper(page[1]);
        tamperWithList(page);

        expect(await pets.list({ limit: 10 })).toStrictEqual(before);
        expect(await pets.findById(1n)).toStrictEqual(before[0]);
      });

      it('ignores changes to the passed query during a list', async () => {
        const stored = await insert(pets, 6);
        const query: { -readonly [K in keyof PetQuery]: PetQuery[K] } = { limit: 2, after: 1n };
        const listing = pets.list(query);
        Object.assign(query, { limit: 5, after: 4n, status: 'sold' });

        expect(await listing).toStrictEqual(stored.slice(1, 3));
      });
    });

    describeSecondRepository(lacks, () => {
      it('has the pets of the first and reuses none of its ids', async () => {
        const stored = await insert(pets, 3);

        const next = await openSecond(store);
        const added = await next.insert(newPet({ name: 'Tom', categoryId: 8n }));

        expect(added.id).toSatisfy((id: bigint) => stored.every((pet) => pet.id < id));
        expect(await next.list({ limit: 10 })).toStrictEqual([...stored, added]);
        expect(await pets.list({ limit: 10 })).toStrictEqual([...stored, added]);
      });

      it('assigns different ids concurrently', async () => {
        const next = await openSecond(store);

        const stored = await Promise.all(
          numbers(50).map((n) =>
            (n % 2 === 0 ? pets : next).insert(newPet({ name: `pet ${n}`, categoryId: 7n })),
          ),
        );

        expect(new Set(stored.map(({ id }) => id)).size).toBe(50);
        expect(await pets.list({ limit: 60 })).toStrictEqual(inOrderOfId(stored));
      });
    });
  });
}

async function opened({ pets, close }: PetStore): Promise<PetRepository> {
  onTestFinished(async () => close?.());
  return pets;
}

/** Inserts pets one after the other, with each status in turn. */
async function insert(pets: PetRepository, count: number): Promise<Pet[]> {
  const stored: Pet[] = [];
  for (const n of numbers(count)) {
    const status = PET_STATUSES[n % PET_STATUSES.length]!;
    stored.push(await pets.insert(newPet({ name: `pet ${n}`, categoryId: BigInt(n), status })));
  }
  return stored;
}

function inOrder(ids: readonly bigint[]): bigint[] {
  return ids.toSorted((a, b) => (a < b ? -1 : 1));
}

/** Changes a pet that is not frozen. */
function tamper(pet: Pet | undefined): void {
  if (pet === undefined) throw new Error('there is no pet to change');
  Reflect.set(pet, 'name', 'changed');
  Reflect.set(pet, 'status', 'sold');
  Reflect.set(pet, 'id', 99n);
}

function tamperWithList(pets: readonly Pet[]): void {
  if (Array.isArray(pets) && !Object.isFrozen(pets)) pets.length = 0;
}
