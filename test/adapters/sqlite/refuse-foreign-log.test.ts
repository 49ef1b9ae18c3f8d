import { copyFile, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  openSqliteForReading,
  openSqliteKeys,
  openSqliteStorage,
} from '../../../src/adapters/sqlite/open.ts';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { aKey } from '../../support/api-keys.ts';
import { damage, newFile, stranger, writer } from '../../support/sqlite.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });

const WAYS = [
  ['a service', openSqliteStorage],
  ['a command that reads', openSqliteForReading],
  ['a command that writes keys', openSqliteKeys],
] as const;

describe('a backup that was put over the file of a crashed service, whose log is still there', () => {
  it.each(WAYS)('is refused by %s, with what to do, and left as it is', async (_, open) => {
    const { file } = await restoredBesideLog({ before: 300, checkpoints: 2 });
    const [pets, log] = [await readFile(file), await readFile(`${file}-wal`)];

    const opening = open(file);

    await expect(opening).rejects.toThrow(StorageSetupError);
    await expect(opening).rejects.toThrow(
      `the SQLite file ${file} does not fit its log ${file}-wal; if the file was restored from a backup, remove ` +
        `${file}-wal and ${file}-shm and start again, else restore a backup`,
    );
    expect(pets.equals(await readFile(file))).toBe(true);
    expect(log.equals(await readFile(`${file}-wal`))).toBe(true);
  });

  it('is what it was when that has been done', async () => {
    const { file } = await restoredBesideLog({ before: 300, checkpoints: 2 });
    await expect(openSqliteStorage(file)).rejects.toThrow(StorageSetupError);
    await rm(`${file}-wal`);
    await rm(`${file}-shm`);

    const { pets, close } = await openSqliteStorage(file);
    onTestFinished(close);

    expect(await pets.list({ limit: 1000 })).toHaveLength(300);
    expect(stranger(file).prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  });

  // Every page that was changed since is in the log or is like in the backup, so that SQLite finds nothing.
  it('is refused also where what SQLite sees is whole', async () => {
    const { file } = await restoredBesideLog({ before: 10, checkpoints: 2, withPets: false });
    using db = new DatabaseSync(file, { readOnly: true });
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    db.close();

    await expect(openSqliteStorage(file)).rejects.toThrow(/does not fit its log/);
  });

  it('is taken where the log was begun at that backup: then nothing is lost', async () => {
    const { file, keys } = await restoredBesideLog({ before: 300, checkpoints: 0 });

    const storage = await openSqliteStorage(file);
    onTestFinished(storage.close);

    expect(await storage.pets.list({ limit: 1000 })).toHaveLength(301);
    expect(await storage.keys.list()).toHaveLength(keys);
  });
});

describe('a file that is damaged beside its own log', () => {
  it('is refused', async () => {
    const file = await newFile();
    const other = writer(file, 8);
    await other.printed(/^2000 /m);
    await other.kill();
    const bytes = await readFile(file);
    // From the third page on, so that it is still a database with a schema.
    await writeFile(file, bytes.fill(0xff, 2 * 4096));

    await expect(openSqliteStorage(file)).rejects.toThrow(/does not fit its log/);
  });

  it('is served where a single record is damaged', async () => {
    const file = await newFile();
    const other = writer(file, 8);
    await other.printed(/^700 /m);
    damage(file, "UPDATE pets SET name = x'ff' WHERE id = 3");
    await other.kill();
    expect((await stat(`${file}-wal`)).size).toBeGreaterThan(0);

    const { pets, close } = await openSqliteStorage(file);
    onTestFinished(close);

    expect(await pets.findById(2n)).toMatchObject({ id: 2n });
    await expect(pets.findById(3n)).rejects.toThrow(DamagedPet);
  });
});

describe('a log of the file itself', () => {
  it('is taken after every crash, whatever checkpoints there were', async () => {
    const file = await newFile();
    for (let round = 0; round < 3; round++) {
      const other = writer(file, 8);
      await other.printed(/^700 /m);
      await other.kill();
      expect((await stat(`${file}-wal`)).size).toBeGreaterThan(0);

      const { pets, close } = await openSqliteStorage(file);
      const stored = await pets.list({ limit: 100_000 });
      await close();

      expect(stored.length).toBeGreaterThanOrEqual(700);
    }
  });

  it('is not looked at while a service has the file, which has done so itself', async () => {
    const file = await newFile();
    const { pets, close } = await openSqliteStorage(file);
    onTestFinished(close);
    await pets.insert(rex);
    // Nothing that a service would start on.
    const other = stranger(file);
    other.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
    other.exec("UPDATE sqlite_sequence SET seq = seq + 100 WHERE name <> 'pets'");

    for (const [, open] of WAYS.slice(1)) expect(await (await open(file)).close()).toBeUndefined();
  });
});

/** A backup, and beside it the log of a service that had gone on with the file, as if that had been killed. */
async function restoredBesideLog({
  before,
  checkpoints,
  withPets = true,
}: {
  readonly before: number;
  readonly checkpoints: number;
  readonly withPets?: boolean;
}): Promise<{ file: string; keys: number }> {
  const original = await newFile();
  const first = await openSqliteStorage(original);
  await Promise.all(Array.from({ length: before }, (_, n) => first.pets.insert({ ...rex, name: `${n}` })));
  await first.close();
  const backup = await backupOf(original);

  const second = await openSqliteStorage(original);
  onTestFinished(second.close);
  let keys = 0;
  for (let n = 0; n < checkpoints; n++) {
    await second.keys.insert(aKey(++keys));
    stranger(original).prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
    // The next write of the service gives the new log a mark, at the latest after a second.
    await sleep(1_050);
  }
  if (withPets) await second.pets.insert(rex);
  else await second.keys.insert(aKey(++keys));

  const file = await newFile();
  await copyFile(backup, file);
  await copyFile(`${original}-wal`, `${file}-wal`);
  return { file, keys };
}

async function backupOf(file: string): Promise<string> {
  const backup = await newFile();
  await copyFile(file, backup);
  return backup;
}
