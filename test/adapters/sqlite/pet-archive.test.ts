import { expect, it } from 'vitest';
import { openSqliteForReading } from '../../../src/adapters/sqlite/open.ts';
import { PetIdTaken } from '../../../src/application/maintenance/errors.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { closeAfterTest, countCommits, newService } from '../../support/sqlite.ts';
import { aPet } from '../../support/pets.ts';

it('the archive of a SQLite file writes all pets of a batch in one transaction, or none of them', async () => {
  const { file, ...storage } = await newService();
  const before = await countCommits(file);
  await storage.archive.write(archivedPets(100));
  expect(await countCommits(file)).toBe(before + 1);

  const withTakenId = [anArchivedPet({ id: 4n }), anArchivedPet({ id: 5n })];
  await expect(storage.archive.write(withTakenId)).rejects.toThrow(PetIdTaken);
  // The pet with the free id 4 was not stored either.
  expect(await storage.pets.findById(4n)).toBeUndefined();
});

it('the archive of a SQLite file can be read while a service runs, and has the pets that the service has just stored', async () => {
  const { file, ...storage } = await newService();
  await storage.archive.write(archivedPets(10));
  const reading = await closeAfterTest(openSqliteForReading(file));

  expect(await reading.archive.read(0n, 20)).toStrictEqual(archivedPets(10));
  const rex = await storage.pets.insert(aPet());
  expect(await reading.archive.read(rex.id - 1n, 20)).toStrictEqual([rex]);
  expect([await reading.archive.lastId(), await reading.archive.count(rex.id)]).toStrictEqual([rex.id, 11]);
});
