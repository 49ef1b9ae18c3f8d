import { expect, it } from 'vitest';
import { DamagedApiKey, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { type Checkable, CheckStorage } from '../../../src/application/maintenance/check-storage.ts';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import type { Progress, ReadablePetArchive } from '../../../src/application/ports/pet-archive.ts';
import type { Finding } from '../../../src/application/ports/storage-health.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { aKey } from '../../support/api-keys.ts';
import { archivedPets, archiveWith, storeWith } from '../../support/archived-pets.ts';

const PETS = archivedPets(2_500);

async function check(storage: Partial<Checkable>) {
  const parts = {
    archive: await storeWith(PETS),
    keys: { list: async () => [aKey(1), aKey(2)] },
    ...storage,
  };
  const inspector = storage.inspector ?? { async *findings() {} };
  const useCase = new CheckStorage({ ...parts, inspector });
  const findings: Finding[] = [];
  const progress: Progress[] = [];
  const run = useCase.execute((seen) => progress.push(seen));
  for (let next = await run.next(); ; next = await run.next()) {
    if (next.done) return { findings, progress, checked: next.value };
    expect(findings.push(next.value)).toBeLessThan(10);
  }
}

/** Returns an archive in which the pets with these ids are damaged. */
async function archiveWithDamage(...ids: readonly bigint[]): Promise<ReadablePetArchive> {
  const store = await storeWith(PETS);
  return archiveWith(store, {
    async read(after, limit) {
      const pets = await store.read(after, limit);
      const at = pets.findIndex(({ id }) => ids.includes(id));
      if (at === -1) return pets;
      throw new DamagedPet(pets[at]!.id, 'it is torn', pets.slice(0, at));
    },
  });
}

it('CheckStorage finds nothing in an undamaged storage, and reads all of it', async () => {
  const { findings, progress, checked } = await check({});
  expect(findings).toStrictEqual([]);
  const total = 2500;
  expect(progress).toStrictEqual([1000, 2000, 2500].map((done) => ({ doing: 'checking', done, total })));
  expect(checked).toStrictEqual({ pets: 2500, apiKeys: 2 });
});

it('CheckStorage reports that few ids are left', async () => {
  const archive = archiveWith(await storeWith(PETS), { lastId: async () => MAX_PET_ID });
  const problem = 'fewer than 1000000000000 ids are left for new pets';
  expect((await check({ archive })).findings).toStrictEqual([{ about: 'pet ids', problem }]);
});

it('CheckStorage reports problems of the whole storage, then every damaged pet and key, and reads all records', async () => {
  const [first, second, last] = [PETS[0]!.id, PETS[1]!.id, PETS.at(-1)!.id];
  const { findings, checked } = await check({
    archive: await archiveWithDamage(first, second, last),
    keys: { list: async () => [aKey(1), new DamagedApiKey('f', 'scopes must be some')] },
    inspector: {
      async *findings() {
        yield { about: 'file', problem: 'it is bent' };
      },
    },
  });
  expect(findings).toStrictEqual([
    { about: 'file', problem: 'it is bent' },
    ...[first, second, last].map((id) => ({ about: `pet ${id}`, problem: 'it is torn' })),
    { about: 'API key f', problem: 'scopes must be some' },
  ]);
  expect(checked).toStrictEqual({ pets: 2500, apiKeys: 2 });
});

it.each([2n, PETS.at(-1)!.id])(
  'CheckStorage reports pets that are counted but cannot be read: %s',
  async (lost) => {
    const store = await storeWith(PETS);
    const archive = archiveWith(store, {
      read: async (after, limit) => (await store.read(after, limit)).filter(({ id }) => id !== lost),
    });
    const { findings } = await check({ archive });
    expect(findings).toStrictEqual([
      { about: 'pets', problem: '2500 are counted, but only 2499 can be read' },
    ]);
  },
);

it('CheckStorage raises the total of its progress when it reads more pets than were counted', async () => {
  const archive = archiveWith(await storeWith(PETS), { count: async () => 4 });
  const { progress } = await check({ archive });
  expect(progress.map(({ done, total }) => total === done)).toStrictEqual([true, true, true]);
});

it('CheckStorage rejects with the error of the storage when a read fails', async () => {
  const failure = new StorageUnavailable('the disk is gone');
  const archive = archiveWith(await storeWith(PETS), { read: async () => Promise.reject(failure) });
  await expect(check({ archive })).rejects.toBe(failure);
});

it('CheckStorage stops at a pet that is out of order, and reports it', async () => {
  const store = await storeWith(PETS);
  const archive = archiveWith(store, {
    async read(after, limit) {
      const [first, ...rest] = await store.read(after, limit);
      throw new DamagedPet(first!.id, 'it is out of order', [rest[0]!]);
    },
  });
  const { findings } = await check({ archive });
  expect(findings).toStrictEqual([
    { about: 'pet 1', problem: 'it is out of order' },
    { about: 'pets', problem: '2500 are counted, but only 2 can be read' },
  ]);
});
