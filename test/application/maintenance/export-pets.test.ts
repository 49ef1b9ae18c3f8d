import { expect, it } from 'vitest';
import { CountsDiffer } from '../../../src/application/maintenance/errors.ts';
import { ExportPets } from '../../../src/application/maintenance/export-pets.ts';
import type { ArchivedPet, Progress } from '../../../src/application/ports/pet-archive.ts';
import {
  anArchivedPet,
  archivedPets,
  archiveWith,
  inOrderOfId,
  storeWith,
} from '../../support/archived-pets.ts';

const SOME = archivedPets(2500);
const LAST = SOME.at(-1)!.id;

async function allPetsOf(batches: AsyncIterable<readonly ArchivedPet[]>): Promise<ArchivedPet[]> {
  return (await Array.fromAsync(batches)).flat();
}

const ignore = () => {};

it('ExportPets yields every pet that exists at the start, even if a service adds pets before and after the read position', async () => {
  const store = await storeWith(SOME);
  const seen: Progress[] = [];
  const batches = new ExportPets(store).execute((progress) => seen.push(progress));
  const first = await batches.next();
  const before = anArchivedPet({ id: LAST - 1n });
  await store.write([anArchivedPet({ id: 4n }), before, anArchivedPet({ id: LAST + 1n })]);
  const pets = [...(first.value ?? []), ...(await allPetsOf(batches))];
  expect(pets).toStrictEqual(inOrderOfId([...SOME, before]));
  expect(seen.at(-1)).toStrictEqual({ doing: 'exporting', done: 2501, total: 2501 });
});

it('ExportPets fails when a pet that was counted cannot be read', async () => {
  const wrong = archiveWith(await storeWith(SOME), { count: async () => 2501 });
  await expect(allPetsOf(new ExportPets(wrong).execute(ignore))).rejects.toThrow(CountsDiffer);
});
