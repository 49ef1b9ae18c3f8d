import { expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { CountsDiffer, PetIdTaken } from '../../../src/application/maintenance/errors.ts';
import { ArchiveSource } from '../../../src/application/maintenance/archive-source.ts';
import { CopyPets } from '../../../src/application/maintenance/copy-pets.ts';
import type { ArchivedPet, PetArchive, Progress } from '../../../src/application/ports/pet-archive.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import {
  anArchivedPet,
  archivedPets,
  archiveWith,
  inOrderOfId,
  emptyRepositoryAfter,
  storeWith,
} from '../../support/archived-pets.ts';
import { aPet } from '../../support/pets.ts';

const SOME = archivedPets(2500);
const LAST = SOME.at(-1)!.id;

async function allPetsOf(archive: PetArchive): Promise<readonly ArchivedPet[]> {
  return archive.read(0n, 100_000);
}

function copy(source: PetArchive, target: PetArchive, seen: Progress[] = []) {
  return new CopyPets(new ArchiveSource(source), target).execute((progress) => seen.push(progress));
}

/** Returns a store that calls these functions before and after each write. */
function watched(
  store: PetArchive,
  { before, after }: { before?(pets: readonly ArchivedPet[]): unknown; after?(): unknown },
): PetArchive {
  return archiveWith(store, {
    async write(pets) {
      await before?.(pets);
      await store.write(pets);
      await after?.();
    },
  });
}

const result = (pets: number, alreadyThere = 0, others = 0) => ({ pets, alreadyThere, others });

it('CopyPets reserves the assigned ids of an empty source, and fails when it cannot', async () => {
  const source = await emptyRepositoryAfter(7n);
  const target = new InMemoryPetRepository();
  expect(await copy(source, target)).toStrictEqual(result(0));
  expect(await target.lastId()).toBe(7n);
  const away = new Error('away');
  target.reserve = () => Promise.reject(away);
  await expect(copy(source, target)).rejects.toBe(away);
});

it('CopyPets writes nothing when the ids of the source leave too few for new pets', async () => {
  const source = archiveWith(await storeWith(SOME), { lastId: async () => MAX_PET_ID });
  const target = new InMemoryPetRepository();
  await expect(copy(source, target)).rejects.toThrow('which would leave too few ids for new pets');
  expect(await target.lastId()).toBe(0n);
});

it('CopyPets reads the source once after the comparison, and writes a batch when the previous one is durable', async () => {
  const source = await storeWith(SOME);
  let reads = 0;
  const counted = archiveWith(source, { read: (after, limit) => (reads++, source.read(after, limit)) });
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
  // The comparison before the first write has read one batch, too.
  expect(ahead.map((count) => count - ahead[0]!)).toStrictEqual([0, 1, 2]);
  expect(reads).toBe(3 + 1);
});

it.each<readonly [description: string, existing: readonly ArchivedPet[]]>([
  ...[1, 999, 1000, 1001, 1700, 2499, 2500].map((n) => [`the first ${n}`, SOME.slice(0, n)] as const),
  ['no pets', []],
  ['all but some in between', SOME.filter((_, index) => index % 7 !== 3)],
  ['other ids, between and after its ids', [4n, 8n, LAST + 1n].map((id) => anArchivedPet({ id }))],
])('CopyPets begins at the first pet that the target lacks if it has %s', async (_, existing) => {
  const target = await storeWith(existing);
  const written: ArchivedPet[] = [];
  const watchedTarget = watched(target, { before: (pets) => written.push(...pets) });
  const ids = new Set(existing.map(({ id }) => id));
  const missing = SOME.filter(({ id }) => !ids.has(id));
  const others = existing.filter((pet) => !SOME.includes(pet));

  expect(await copy(await storeWith(SOME), watchedTarget)).toStrictEqual(
    result(2500, 2500 - missing.length, others.filter(({ id }) => id < LAST).length),
  );

  expect(written).toStrictEqual(SOME.filter(({ id }) => id >= (missing[0]?.id ?? Infinity)));
  expect(await allPetsOf(target)).toStrictEqual(inOrderOfId([...existing, ...missing]));
});

it.each([0, 1500, 2499])('CopyPets changes nothing when another pet has the id of pet %i', async (index) => {
  const taken = { ...SOME[index]!, name: 'another pet' };
  const target = await storeWith(
    inOrderOfId([...SOME.slice(0, 10), taken]).filter(
      ({ id, name }) => id !== taken.id || name === taken.name,
    ),
  );
  const before = await allPetsOf(target);

  const copying = copy(await storeWith(SOME), target);

  await expect(copying).rejects.toStrictEqual(new PetIdTaken(taken.id));
  expect(await allPetsOf(target)).toStrictEqual(before);
  expect(await target.lastId()).toBe(before.at(-1)!.id);
});

it('CopyPets leaves out a pet that was assigned its id before the copy and is stored during the copy', async () => {
  const source = await storeWith(SOME);
  await source.reserve(LAST + 3n);
  const target = new InMemoryPetRepository();
  const late = watched(target, { after: () => source.write([anArchivedPet({ id: LAST + 2n })]) });
  expect(await copy(source, late)).toStrictEqual(result(2500));
  expect(await allPetsOf(target)).toStrictEqual(SOME);
  expect(await target.lastId()).toBe(LAST + 3n);
});

const REMOVED = 'the source should have 2500 pets, but it has 2499: did something remove pets?';
const ADDED = 'the target should have 2500 pets, but it has 2501: does another program write pets there?';

it.each<
  readonly [string, string, (source: PetArchive, target: PetArchive) => readonly [PetArchive, PetArchive]]
>([
  [
    'a pet has disappeared from the source at the end',
    REMOVED,
    (source, target) => {
      let missing = 0;
      const count: PetArchive['count'] = async (upTo) => (await source.count(upTo)) - missing;
      return [archiveWith(source, { count }), watched(target, { after: () => (missing = 1) })];
    },
  ],
  [
    'another pet appears in the target',
    ADDED,
    (source, target) => [source, watched(target, { after: () => target.write([anArchivedPet({ id: 4n })]) })],
  ],
  [
    'the target has lost a pet that it acknowledged',
    'the target should have 2500 pets, but it has 2497: did something remove pets?',
    (source, target) => [source, archiveWith(target, { write: (pets) => target.write(pets.slice(1)) })],
  ],
])('CopyPets fails when %s', async (_, message, arrange) => {
  const copying = copy(...arrange(await storeWith(SOME), new InMemoryPetRepository()));
  await expect(copying).rejects.toThrow(CountsDiffer);
  await expect(copying).rejects.toThrow(`${message} Run the command again`);
});

it('CopyPets fails when the last pet disappears from the source during the comparison', async () => {
  const source = await storeWith(SOME.slice(0, -1));
  const surveyed = archiveWith(source, { count: async () => 2500, greatestId: async () => LAST });
  await expect(copy(surveyed, await storeWith(SOME))).rejects.toThrow(REMOVED);
});

it('CopyPets succeeds while a service adds pets to the target', async () => {
  const store = new InMemoryPetRepository();
  const target = watched(store, { after: () => store.insert(aPet({ name: 'new' })) });
  expect(await copy(await storeWith(SOME), target)).toStrictEqual(result(2500));
  expect(await store.count(MAX_PET_ID)).toBe(2503);
});

it('CopyPets reports its progress', async () => {
  const seen: Progress[] = [];
  await copy(await storeWith(SOME), await storeWith(SOME.slice(0, 1200)), seen);
  expect(seen).toStrictEqual([
    { doing: 'comparing', done: 1000, total: 2500 },
    { doing: 'writing', done: 2200, total: 2500 },
    { doing: 'writing', done: 2500, total: 2500 },
  ]);
});

it('CopyPets closes every read of the source, even if the copy fails', async () => {
  let openReads = 0;
  class CountedSource extends ArchiveSource {
    override async *read(...range: Parameters<ArchiveSource['read']>) {
      openReads++;
      try {
        yield* super.read(...range);
      } finally {
        openReads--;
      }
    }
  }
  const source = new CountedSource(await storeWith(SOME));
  const ignore = () => {};

  await new CopyPets(source, await storeWith(SOME.slice(0, 10))).execute(ignore);
  expect(openReads).toBe(0);

  const conflict = new CopyPets(source, await storeWith([{ ...SOME[0]!, name: 'Tom' }]));
  await expect(conflict.execute(ignore)).rejects.toThrow(PetIdTaken);
  expect(openReads).toBe(0);
});
