import { describe, expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { CountsDiffer, PetIdTaken } from '../../../src/application/moving/errors.ts';
import { ArchiveSource } from '../../../src/application/moving/archive-source.ts';
import { CopyPets } from '../../../src/application/moving/copy-pets.ts';
import type { ArchivedPet, PetArchive } from '../../../src/application/ports/pet-archive.ts';
import type { Progress } from '../../../src/application/ports/progress.ts';
import { MAX_PET_ID, newPet } from '../../../src/domain/pet.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';

const SOME = archivedPets(2500);
const LAST = SOME.at(-1)!.id;

async function holding(pets: readonly ArchivedPet[]): Promise<InMemoryPetRepository> {
  const store = new InMemoryPetRepository();
  await store.write(pets);
  return store;
}

async function everything(archive: PetArchive): Promise<readonly ArchivedPet[]> {
  return archive.read(0n, 100_000);
}

function copy(source: PetArchive, target: PetArchive, seen: Progress[] = []) {
  return new CopyPets(new ArchiveSource(source), target).execute((progress) => seen.push(progress));
}

/** The store as it is, but something happens before or after a write. */
function watched(
  store: PetArchive,
  { before, after }: { before?(pets: readonly ArchivedPet[]): unknown; after?(): unknown },
): PetArchive {
  return {
    read: (from, limit) => store.read(from, limit),
    greatestId: () => store.greatestId(),
    lastId: () => store.lastId(),
    reserve: (id) => store.reserve(id),
    count: (upTo) => store.count(upTo),
    async write(pets) {
      await before?.(pets);
      await store.write(pets);
      await after?.();
    },
  };
}

describe('CopyPets', () => {
  it('makes an exact copy, whose next id is new', async () => {
    const target = new InMemoryPetRepository();

    expect(await copy(await holding(SOME), target)).toStrictEqual({ count: 2500, before: 0, others: 0 });

    expect(await everything(target)).toStrictEqual(SOME);
    expect((await target.insert(newPet({ name: 'Tom', categoryId: 7n }))).id).toBe(LAST + 1n);
  });

  it('copies nothing, but not the ids that were given', async () => {
    const source = new InMemoryPetRepository(7n);
    const target = new InMemoryPetRepository();
    expect(await copy(source, target)).toStrictEqual({ count: 0, before: 0, others: 0 });
    expect(await target.lastId()).toBe(7n);
  });

  it('reserves the ids before it writes the first pet', async () => {
    const store = new InMemoryPetRepository();
    const reserved: bigint[] = [];
    const target = watched(store, { before: async () => reserved.push(await store.lastId()) });
    await copy(await holding(SOME), target);
    expect(reserved).toStrictEqual([LAST, LAST, LAST]);
  });

  it('writes a batch when the one before is durable, and reads one ahead, no more', async () => {
    const source = await holding(SOME);
    let reads = 0;
    const counted: PetArchive = {
      ...watched(source, {}),
      read: (after, limit) => (reads++, source.read(after, limit)),
    };
    let writing = 0;
    const ahead: number[] = [];
    const target = watched(new InMemoryPetRepository(), {
      before: async () => {
        expect(++writing).toBe(1);
        await new Promise(setImmediate);
        ahead.push(reads);
      },
      after: () => writing--,
    });
    await copy(counted, target);
    // One read was for the comparison, and one more was begun there.
    expect(ahead.map((count) => count - ahead[0]!)).toStrictEqual([0, 1, 1]);
  });

  it.each([0, 1, 999, 1000, 1001, 1700, 2499, 2500])('goes on after %i pets', async (there) => {
    const target = await holding(SOME.slice(0, there));
    const written: bigint[] = [];
    const watching = watched(target, { before: (pets) => written.push(...pets.map(({ id }) => id)) });

    expect(await copy(await holding(SOME), watching)).toStrictEqual({
      count: 2500,
      before: there,
      others: 0,
    });

    expect(await everything(target)).toStrictEqual(SOME);
    expect(written).toStrictEqual(SOME.slice(there).map(({ id }) => id));
  });

  it('fills the gaps that it finds', async () => {
    const target = await holding(SOME.filter((_, index) => index % 7 !== 3));
    const { before } = await copy(await holding(SOME), target);
    expect(before).toBe(SOME.filter((_, index) => index % 7 !== 3).length);
    expect(await everything(target)).toStrictEqual(SOME);
  });

  it('leaves other pets as they are, between and after those of the source', async () => {
    const others = [anArchivedPet({ id: 4n }), anArchivedPet({ id: 8n }), anArchivedPet({ id: LAST + 1n })];
    const target = await holding(others);
    expect(await copy(await holding(SOME), target)).toStrictEqual({ count: 2500, before: 0, others: 2 });
    const all = [...SOME, ...others].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(await everything(target)).toStrictEqual(all);
  });

  it.each([0, 1500, 2499])('changes nothing when another pet has the id of the pet %i', async (index) => {
    const taken = { ...SOME[index]!, name: 'somebody else' };
    const target = await holding(
      [...SOME.slice(0, 10), taken]
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .filter(({ id, name }) => id !== taken.id || name === taken.name),
    );
    const before = await everything(target);

    const copying = copy(await holding(SOME), target);

    await expect(copying).rejects.toThrow(PetIdTaken);
    await expect(copying).rejects.toMatchObject({ id: taken.id });
    expect(await everything(target)).toStrictEqual(before);
    expect(await target.lastId()).toBe(before.at(-1)!.id);
  });

  it('leaves out what the source gets after the start', async () => {
    const source = await holding(SOME);
    const target = new InMemoryPetRepository();
    const adding = watched(target, { before: () => source.insert(newPet({ name: 'late', categoryId: 7n })) });
    expect((await copy(source, adding)).count).toBe(2500);
    expect(await everything(target)).toStrictEqual(SOME);
  });

  it('leaves out a pet whose id was given before the start, and lies beyond all others', async () => {
    const source = await holding(SOME);
    await source.reserve(LAST + 3n);
    const target = new InMemoryPetRepository();
    const late = watched(target, { after: () => source.write([anArchivedPet({ id: LAST + 2n })]) });
    expect(await copy(source, late)).toStrictEqual({ count: 2500, before: 0, others: 0 });
    expect(await everything(target)).toStrictEqual(SOME);
    expect(await target.lastId()).toBe(LAST + 3n);
  });

  // The first of the gaps is behind the reader by then, the last is before it.
  it.each([
    { what: 'behind the reader', id: 4n, copied: false },
    { what: 'before it', id: LAST - 1n, copied: true },
  ])('takes no harm from a pet that a service stores late, $what', async ({ id, copied }) => {
    const source = await holding(SOME);
    const target = new InMemoryPetRepository();
    const pet = anArchivedPet({ id });
    const late = watched(target, { after: () => source.write([pet]) });

    const expected = copied ? [...SOME, pet].toSorted((a, b) => (a.id < b.id ? -1 : 1)) : SOME;
    expect(await copy(source, late)).toStrictEqual({ count: expected.length, before: 0, others: 0 });
    expect(await everything(target)).toStrictEqual(expected);

    // A further copy brings the rest.
    const all = [...SOME, pet].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(await copy(source, target)).toStrictEqual({ count: 2501, before: expected.length, others: 0 });
    expect(await everything(target)).toStrictEqual(all);
  });

  it('notices that pets could not be read which were there at the start', async () => {
    const source = await holding(SOME);
    const less: PetArchive = {
      ...watched(source, {}),
      read: async (after, limit) => (await source.read(after, limit)).filter(({ id }) => id !== 1001n),
    };
    const copying = copy(less, new InMemoryPetRepository());
    await expect(copying).rejects.toThrow(CountsDiffer);
    await expect(copying).rejects.toThrow(
      'the source should have 2500 pets, but 2499 were found: has something removed pets? Run the command again',
    );
  });

  it('notices that pets have gone from the source at the end', async () => {
    const source = await holding(SOME);
    let gone = 0;
    const less: PetArchive = {
      ...watched(source, {}),
      count: async (upTo) => (await source.count(upTo)) - gone,
    };
    const target = watched(new InMemoryPetRepository(), { after: () => (gone = 1) });
    await expect(copy(less, target)).rejects.toMatchObject({ expected: 2500, found: 2499 });
  });

  it('notices a pet that came into the target meanwhile', async () => {
    const store = new InMemoryPetRepository();
    const target = watched(store, { after: () => store.write([anArchivedPet({ id: 4n })]) });
    const copying = copy(await holding(SOME), target);
    await expect(copying).rejects.toMatchObject({ kind: 'counts-differ', expected: 2500, found: 2501 });
    await expect(copying).rejects.toThrow(
      'the target should have 2500 pets, but 2501 were found: does another program write pets there? Run the command',
    );
  });

  it('notices a target that has not kept what it said it had', async () => {
    const store = new InMemoryPetRepository();
    const target: PetArchive = { ...watched(store, {}), write: (pets) => store.write(pets.slice(1)) };
    await expect(copy(await holding(SOME), target)).rejects.toMatchObject({ expected: 2500, found: 2497 });
  });

  it('is happy with a target whose service adds pets of its own', async () => {
    const store = new InMemoryPetRepository();
    const target = watched(store, { after: () => store.insert(newPet({ name: 'new', categoryId: 7n })) });
    expect(await copy(await holding(SOME), target)).toStrictEqual({ count: 2500, before: 0, others: 0 });
    expect(await store.count(MAX_PET_ID)).toBe(2503);
  });

  it('tells how far it is', async () => {
    const seen: Progress[] = [];
    await copy(await holding(SOME), await holding(SOME.slice(0, 1200)), seen);
    expect(seen).toStrictEqual([
      { doing: 'comparing', done: 1000, total: 2500 },
      { doing: 'writing', done: 2200, total: 2500 },
      { doing: 'writing', done: 2500, total: 2500 },
    ]);
  });

  it('fails as the source or the target does', async () => {
    const broken = new Error('broken');
    const source = { ...watched(await holding(SOME), {}), read: () => Promise.reject(broken) };
    await expect(copy(source, new InMemoryPetRepository())).rejects.toBe(broken);
    const target = watched(new InMemoryPetRepository(), { before: () => Promise.reject(broken) });
    await expect(copy(await holding(SOME), target)).rejects.toBe(broken);
  });
});
