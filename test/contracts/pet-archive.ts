import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { IdempotencyKeyTaken, PetIdTaken } from '../../src/application/moving/errors.ts';
import { ArchiveSource } from '../../src/application/moving/archive-source.ts';
import { CopyPets } from '../../src/application/moving/copy-pets.ts';
import { PetIdsExhausted } from '../../src/application/pets/errors.ts';
import { ExportPets } from '../../src/application/moving/export-pets.ts';
import {
  type ArchivedPet,
  BEFORE_EVERY_ID,
  type PetArchive,
} from '../../src/application/ports/pet-archive.ts';
import type { PetRepository } from '../../src/application/ports/pet-repository.ts';
import { INT64_MAX, INT64_MIN, MAX_PET_ID, newPet } from '../../src/domain/pet.ts';
import {
  anArchivedPet,
  archivedPets,
  archiveWith,
  idempotencyFor,
  inOrderOfId,
} from '../support/archived-pets.ts';

export type ArchiveStore = {
  readonly archive: PetArchive;
  /** On the same store. */
  readonly pets: PetRepository;
  close?(): Promise<void>;
};

/**
 * The contract of {@link PetArchive}.
 *
 * @param open opens a new, empty store
 */
export function petArchiveContract(name: string, open: () => Promise<ArchiveStore>): void {
  describe(`PetArchive contract: ${name}`, () => {
    let store: ArchiveStore;
    let archive: PetArchive;
    let pets: PetRepository;

    beforeEach(async () => {
      store = await open();
      ({ archive, pets } = store);
    });
    afterEach(async () => store.close?.());

    const odd: readonly (readonly [string, Partial<ArchivedPet>])[] = [
      ['the least id', { id: 1n }],
      ['an id beyond int32', { id: 2n ** 32n + 1n }],
      ['the greatest id', { id: MAX_PET_ID }],
      ['the least int64', { categoryId: INT64_MIN }],
      ['an int64 beyond 2^53', { categoryId: 2n ** 53n + 1n }],
      ['the greatest int64', { categoryId: INT64_MAX }],
      ['a name of many scripts', { name: ' Ünïcödé 名前 🐕‍🦺 \u{10ffff}\ufeff e\u0301' }],
      ['a name of query syntax', { name: '$where.{"$gt":""}\'; DROP TABLE pets; --' }],
      ['the longest name', { name: '\u{1f415}'.repeat(255) }],
      ['pending', { status: 'pending' }],
      ['sold', { status: 'sold' }],
      ['an idempotency key', { idempotency: idempotencyFor('a') }],
    ];

    it.each(odd)('stores a pet exactly: %s', async (_, fields) => {
      const pet = anArchivedPet({ id: 7n, ...fields });
      await archive.write([pet]);

      const { idempotency: _known, ...plain } = pet;
      expect(await archive.read(0n, 10)).toStrictEqual([pet]);
      expect(await pets.findById(pet.id)).toStrictEqual(plain);
      expect(await pets.list({ limit: 10, status: pet.status })).toStrictEqual([plain]);
    });

    it('reads the pets of the repository', async () => {
      const stored = [];
      for (const n of [1n, 2n, 3n])
        stored.push(await pets.insert(newPet({ name: `pet ${n}`, categoryId: n })));

      expect(await archive.read(0n, 10)).toStrictEqual(stored);
    });

    it('reads in ascending order of id, after an id, up to a limit', async () => {
      const all = [100n, 9n, 1n, 10n, 99n].map((id) => anArchivedPet({ id }));
      await archive.write(all);
      const sorted = inOrderOfId(all);

      expect(await archive.read(BEFORE_EVERY_ID, 10)).toStrictEqual(sorted);
      expect(await archive.read(0n, 10)).toStrictEqual(sorted);
      expect(await archive.read(0n, 2)).toStrictEqual(sorted.slice(0, 2));
      expect(await archive.read(9n, 2)).toStrictEqual(sorted.slice(2, 4));
      expect(await archive.read(98n, 10)).toStrictEqual(sorted.slice(3));
      expect(await archive.read(100n, 10)).toStrictEqual([]);
      expect(await archive.read(MAX_PET_ID, 10)).toStrictEqual([]);
      expect(await pets.list({ limit: 10 })).toStrictEqual(sorted);
    });

    it('reads more than a hundred pets at once', async () => {
      const all = Array.from({ length: 1000 }, (_, n) => anArchivedPet({ id: BigInt(n + 1) }));
      await archive.write(all);

      expect(await archive.read(0n, 1000)).toStrictEqual(all);
    });

    it('writes a pet between existing ones', async () => {
      await archive.write([
        anArchivedPet({ id: 1n, status: 'sold' }),
        anArchivedPet({ id: 3n, status: 'sold' }),
      ]);
      await archive.write([anArchivedPet({ id: 2n, status: 'sold' })]);

      expect((await archive.read(0n, 10)).map(({ id }) => id)).toStrictEqual([1n, 2n, 3n]);
      expect((await pets.list({ limit: 10, status: 'sold' })).map(({ id }) => id)).toStrictEqual([
        1n,
        2n,
        3n,
      ]);
    });

    it('accepts an empty batch', async () => {
      await archive.write([]);

      expect(await archive.read(0n, 10)).toStrictEqual([]);
      expect(await archive.lastId()).toBe(0n);
    });

    describe('an existing pet', () => {
      const there = anArchivedPet({ id: 5n, idempotency: idempotencyFor('a') });

      it('that is identical stays unchanged, and the others are written', async () => {
        await archive.write([there]);
        const all = [anArchivedPet({ id: 4n }), there, anArchivedPet({ id: 6n })];

        await archive.write(all);
        await archive.write(all);

        expect(await archive.read(0n, 10)).toStrictEqual(all);
      });

      it.each<readonly [string, ArchivedPet]>([
        ['name', { ...there, name: 'Tom' }],
        ['categoryId', { ...there, categoryId: there.categoryId + 1n }],
        ['status', { ...there, status: 'sold' }],
        [
          'idempotency key',
          { ...there, idempotency: { ...idempotencyFor('a'), key: idempotencyFor('b').key } },
        ],
        [
          'fingerprint',
          { ...there, idempotency: { ...idempotencyFor('a'), fingerprint: idempotencyFor('b').key } },
        ],
        ['idempotency key, namely none,', anArchivedPet({ id: 5n })],
      ])('with a different %s is not overwritten', async (_, other) => {
        await archive.write([there]);

        const writing = archive.write([anArchivedPet({ id: 4n }), other, anArchivedPet({ id: 6n })]);

        await expect(writing).rejects.toThrow(PetIdTaken);
        await expect(archive.write([other])).rejects.toMatchObject({ kind: 'pet-id-taken', id: 5n });
        expect(await archive.read(4n, 1)).toStrictEqual([there]);
      });

      it('that the repository created is not overwritten', async () => {
        const rex = await pets.insert(newPet({ name: 'Rex', categoryId: 7n }));

        await archive.write([rex]);
        await expect(archive.write([{ ...rex, name: 'Tom' }])).rejects.toThrow(PetIdTaken);

        expect(await archive.read(0n, 10)).toStrictEqual([rex]);
      });

      it('keeps its idempotency key: no other pet gets it', async () => {
        await archive.write([there]);
        const other = anArchivedPet({ id: 6n, idempotency: idempotencyFor('a') });

        await expect(archive.write([other])).rejects.toThrow(IdempotencyKeyTaken);
        await expect(archive.write([other])).rejects.toMatchObject({ kind: 'idempotency-key-taken', id: 6n });
        expect(await archive.read(0n, 10)).toStrictEqual([there]);
      });
    });

    it('knows the greatest id of a pet, whatever was assigned or reserved', async () => {
      expect(await archive.greatestId()).toBe(0n);
      await archive.reserve(40n);
      expect(await archive.greatestId()).toBe(0n);
      await archive.write([anArchivedPet({ id: 9n }), anArchivedPet({ id: 12n })]);
      await archive.write([anArchivedPet({ id: 5n })]);
      expect(await archive.greatestId()).toBe(12n);
      const { id } = await pets.insert(newPet({ name: 'Rex', categoryId: 7n }));
      expect(await archive.greatestId()).toBe(id);
      await archive.write([anArchivedPet({ id: MAX_PET_ID })]);
      expect(await archive.greatestId()).toBe(MAX_PET_ID);
    });

    describe('while reserved ids get their pets late', () => {
      const there = archivedPets(2500);
      const last = there.at(-1)!.id;
      const early = anArchivedPet({ id: 4n });
      const late = anArchivedPet({ id: last - 1n });
      const beyond = anArchivedPet({ id: last + 1n });
      const inOrder = inOrderOfId([...there, late]);

      beforeEach(async () => {
        await archive.reserve(last + 2n);
        await archive.write(there);
      });

      it('an export has all earlier pets in order', async () => {
        const batches = new ExportPets(archive).execute(() => {});
        const first = await batches.next();
        await archive.write([early, late, beyond]);
        const rest = (await Array.fromAsync(batches)).flat();
        expect([...(first.value ?? []), ...rest]).toStrictEqual(inOrder);
      });

      it('a copy has all earlier pets and reserves every assigned id', async () => {
        const target = new InMemoryPetRepository();
        const progress: number[] = [];
        const watched = archiveWith(target, {
          async write(batch) {
            await target.write(batch);
            if (progress.length === 0) await archive.write([early, late, beyond]);
          },
        });
        const copying = new CopyPets(new ArchiveSource(archive), watched).execute(({ done }) =>
          progress.push(done),
        );

        expect(await copying).toStrictEqual({ pets: 2501, alreadyThere: 0, others: 0 });
        expect(await target.read(0n, 3000)).toStrictEqual(inOrder);
        expect(await target.lastId()).toBe(last + 2n);
      });
    });

    describe('the last id', () => {
      it('is 0 at first', async () => {
        expect(await archive.lastId()).toBe(0n);
      });

      it('is the last one that the repository assigned', async () => {
        const { id } = await pets.insert(newPet({ name: 'Rex', categoryId: 7n }));
        expect(await archive.lastId()).toBe(id);
      });

      it('is the greatest one that was written', async () => {
        await archive.write([anArchivedPet({ id: 9n }), anArchivedPet({ id: 40n })]);
        await archive.write([anArchivedPet({ id: 12n })]);
        expect(await archive.lastId()).toBe(40n);
      });

      it('is the greatest one that was reserved', async () => {
        await archive.reserve(40n);
        await archive.reserve(12n);
        expect(await archive.lastId()).toBe(40n);
        expect(await archive.read(0n, 10)).toStrictEqual([]);
      });
    });

    describe('a reserved id', () => {
      it('is never assigned', async () => {
        await archive.reserve(40n);
        expect((await pets.insert(newPet({ name: 'Rex', categoryId: 7n }))).id).toBeGreaterThan(40n);
      });

      it('is never assigned by a repository that has assigned ids before', async () => {
        const { id } = await pets.insert(newPet({ name: 'Rex', categoryId: 7n }));
        await archive.reserve(id + 40n);
        const ids = await Promise.all(
          Array.from(
            { length: 20 },
            async () => (await pets.insert(newPet({ name: 'Tom', categoryId: 7n }))).id,
          ),
        );
        expect(ids.filter((given) => given <= id + 40n)).toStrictEqual([]);
        expect(new Set(ids).size).toBe(20);
      });

      it('is not released by a smaller reservation', async () => {
        await archive.reserve(40n);
        await archive.reserve(0n);
        await archive.reserve(7n);
        expect((await pets.insert(newPet({ name: 'Rex', categoryId: 7n }))).id).toBeGreaterThan(40n);
      });

      it('can be the greatest possible id', async () => {
        await archive.reserve(MAX_PET_ID);
        expect(await archive.lastId()).toBe(MAX_PET_ID);
        await expect(pets.insert(newPet({ name: 'Rex', categoryId: 7n }))).rejects.toThrow(PetIdsExhausted);
      });
    });

    it('never assigns the id of a written pet whose id was reserved first', async () => {
      await archive.reserve(3n);
      await archive.write([1n, 2n, 3n].map((id) => anArchivedPet({ id })));

      const added = await pets.insert(newPet({ name: 'Tom', categoryId: 7n }));

      expect(added.id).toBeGreaterThan(3n);
      expect(await archive.count(MAX_PET_ID)).toBe(4);
    });

    it('counts up to and including an id', async () => {
      await archive.write([2n, 3n, 2n ** 40n, MAX_PET_ID].map((id) => anArchivedPet({ id })));

      const counts = [BEFORE_EVERY_ID, 0n, 1n, 2n, 3n, 4n, 2n ** 40n, MAX_PET_ID - 1n, MAX_PET_ID].map((id) =>
        archive.count(id),
      );
      expect(await Promise.all(counts)).toStrictEqual([0, 0, 0, 1, 2, 2, 3, 3, 4]);
    });

    it('ignores changes to the passed pets during and after a write', async () => {
      const mine = { ...anArchivedPet({ id: 5n }), idempotency: { ...idempotencyFor('a') } };
      const list = [mine];
      const writing = archive.write(list);
      Object.assign(mine.idempotency, idempotencyFor('b'));
      Object.assign(mine, { id: 6n, name: 'Tom', categoryId: 8n, status: 'sold' });
      list.length = 0;
      await writing;
      Object.assign(mine, { id: 8n });

      expect(await archive.read(0n, 10)).toStrictEqual([
        anArchivedPet({ id: 5n, idempotency: idempotencyFor('a') }),
      ]);
    });

    it('ignores changes to the objects that it returned', async () => {
      const pet = anArchivedPet({ id: 5n, idempotency: idempotencyFor('a') });
      await archive.write([pet]);

      const [read] = await archive.read(0n, 10);
      Reflect.set(read!.idempotency!, 'key', idempotencyFor('b').key);
      Reflect.set(read!, 'name', 'changed');

      expect(await archive.read(0n, 10)).toStrictEqual([pet]);
    });

    describe('a retry after the move', () => {
      it('returns the pet that was moved', async () => {
        const pet = anArchivedPet({ id: 5n });
        await archive.write([{ ...pet, idempotency: idempotencyFor('a') }]);

        const again = newPet({ name: pet.name, categoryId: pet.categoryId });
        expect(await pets.insertOnce(again, idempotencyFor('a'))).toStrictEqual({ pet, replayed: true });
        expect(await archive.count(MAX_PET_ID)).toBe(1);
      });

      it('reads the idempotency key that the repository stored', async () => {
        const rex = newPet({ name: 'Rex', categoryId: 7n });
        const { pet } = await pets.insertOnce(rex, idempotencyFor('a'));

        expect(await archive.read(0n, 10)).toStrictEqual([{ ...pet, idempotency: idempotencyFor('a') }]);
      });
    });
  });
}
