import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteForReading, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { PetIdTaken } from '../../../src/application/moving/errors.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { petArchiveContract } from '../../contracts/pet-archive.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { commits, newFile, stranger } from '../../support/sqlite.ts';

petArchiveContract('sqlite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-sqlite-'));
  const { archive, pets, close } = await openSqliteStorage(join(directory, 'petstore.db'));
  return {
    archive,
    pets,
    async close() {
      await close();
      await rm(directory, { recursive: true });
    },
  };
});

describe('the archive of a SQLite file', () => {
  it('writes a batch in one transaction, and all of it or nothing', async () => {
    const file = await newFile();
    await using storage = await opened(file);
    const before = await commits(file);
    await storage.archive.write(archivedPets(100));
    expect(await commits(file)).toBe(before + 1);

    const bad = [anArchivedPet({ id: 4n }), anArchivedPet({ id: 5n })];
    await expect(storage.archive.write(bad)).rejects.toThrow(PetIdTaken);
    // The id 4 is one of the gaps.
    expect(await storage.pets.findById(4n)).toBeUndefined();
  });

  it('can be read while a service has it, and then knows what the service has just stored', async () => {
    const file = await newFile();
    await using storage = await opened(file);
    await storage.archive.write(archivedPets(10));
    const reading = await openSqliteForReading(file);

    expect(await reading.archive.read(0n, 20)).toStrictEqual(archivedPets(10));
    const rex = await storage.pets.insert(newPet({ name: 'Rex', categoryId: 7n }));
    expect(await reading.archive.read(rex.id - 1n, 20)).toStrictEqual([rex]);
    expect([await reading.archive.lastId(), await reading.archive.count(rex.id)]).toStrictEqual([rex.id, 11]);
    await reading.close();
  });

  it('waits for another program that holds the file', async () => {
    const file = await newFile();
    await using storage = await opened(file);
    const other = stranger(file);
    other.exec('BEGIN IMMEDIATE');
    const mine = archivedPets(3).map((pet) => ({ ...pet }));
    const writing = storage.archive.write(mine);
    // Not even what the caller changes meanwhile gets in.
    for (const pet of mine) pet.name = 'changed';
    other.exec('COMMIT');
    await writing;
    expect(await storage.archive.read(0n, 10)).toStrictEqual(archivedPets(3));
  });

  it('never forgets a pet, although somebody has set the sequence back', async () => {
    const file = await newFile();
    await using storage = await opened(file);
    await storage.archive.write(archivedPets(3));
    stranger(file).exec('DELETE FROM sqlite_sequence');
    expect(await storage.archive.lastId()).toBe(3n);
  });
});

async function opened(file: string) {
  const storage = await openSqliteStorage(file);
  return { ...storage, [Symbol.asyncDispose]: () => storage.close() };
}
