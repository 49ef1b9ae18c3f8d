import { expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { ArchiveSource } from '../../../src/application/maintenance/archive-source.ts';
import { CheckStorage } from '../../../src/application/maintenance/check-storage.ts';
import { CopyPets } from '../../../src/application/maintenance/copy-pets.ts';
import { ExportPets } from '../../../src/application/maintenance/export-pets.ts';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import type { Finding } from '../../../src/application/ports/storage-health.ts';
import type { ArchivedPet, OnProgress, PetArchive } from '../../../src/application/ports/pet-archive.ts';
import { anArchivedPet, archivedPets, archiveWith, storeWith } from '../../support/archived-pets.ts';
import { numbers } from '../../support/numbers.ts';

/** The pets of two full pages. None has the id 4. */
const PETS = archivedPets(2_000).map((pet) => anArchivedPet({ id: pet.id }));
const LAST = PETS.at(-1)!.id;

/** Expects of each progress report that `done` does not exceed `total`. */
const within: OnProgress = ({ done, total = 0 }) => expect(done).toBeLessThanOrEqual(total);

/** Returns an archive to which a service adds a pet just before the call with this number, counted from 0. */
async function arriving(pet: ArchivedPet, callNumber: number): Promise<PetArchive> {
  const store = await storeWith(PETS);
  let calls = 0;
  const arrive = async () => {
    if (calls++ === callNumber) await store.write([pet]);
  };
  return archiveWith(store, {
    read: (...range) => arrive().then(() => store.read(...range)),
    greatestId: () => arrive().then(() => store.greatestId()),
    lastId: () => arrive().then(() => store.lastId()),
    count: (upTo) => arrive().then(() => store.count(upTo)),
  });
}

async function findingsIn(archive: PetArchive): Promise<readonly Finding[]> {
  const checked = { archive, keys: { list: async () => [] }, inspector: { async *findings() {} } };
  return Array.fromAsync(new CheckStorage(checked).execute(within));
}

function copy(source: PetArchive, target: PetArchive) {
  return new CopyPets(new ArchiveSource(source), target).execute(within);
}

/** Each pet with the number of the call before which it is added. The last number is after the last call. */
const ARRIVALS = [4n, LAST + 1n].flatMap((id) => numbers(12).map((before) => [id, before] as const));

it.each(ARRIVALS)('export, check and copy succeed if pet %i is added before read %i', async (id, before) => {
  const pet = anArchivedPet({ id });
  const isOld = (one: ArchivedPet) => one.id !== id;

  const batches = await Array.fromAsync(new ExportPets(await arriving(pet, before)).execute(within));
  expect(batches.flat().filter(isOld)).toStrictEqual(PETS);

  expect(await findingsIn(await arriving(pet, before))).toStrictEqual([]);

  const store = new InMemoryPetRepository();
  const target = archiveWith(store, {
    async write(pets) {
      // All ids of the source are reserved before the first write.
      for (const last of [LAST, pets.at(-1)!.id]) expect(await store.lastId()).toBeGreaterThanOrEqual(last);
      await store.write(pets);
    },
  });
  const source = await arriving(pet, before);
  await copy(source, target);
  const copied = await target.read(0n, 3_000);
  expect(copied.filter(isOld)).toStrictEqual(PETS);
  expect(await copy(source, target)).toMatchObject({ alreadyThere: copied.length });
  // Another copy also copies the pet that arrived during the first.
  await copy(source, target);
  expect(await store.read(0n, 3_000)).toStrictEqual(await source.read(0n, 3_000));
});

it('export, check and copy report a damaged pet whose id is 0', async () => {
  const damaged = new DamagedPet(0n, 'it is torn');
  const undamaged = await storeWith(PETS);
  const torn = archiveWith(undamaged, {
    read: async (after, limit) => (after < 0n ? Promise.reject(damaged) : undamaged.read(after, limit)),
  });
  await expect(Array.fromAsync(new ExportPets(torn).execute(within))).rejects.toBe(damaged);
  await expect(copy(torn, new InMemoryPetRepository())).rejects.toBe(damaged);
  await expect(copy(undamaged, torn)).rejects.toBe(damaged);
  expect(await findingsIn(torn)).toStrictEqual([{ about: 'pet 0', problem: 'it is torn' }]);
});
