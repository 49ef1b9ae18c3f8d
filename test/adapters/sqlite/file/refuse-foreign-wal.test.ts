import { copyFile, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import {
  openSqliteForReading,
  openSqliteKeys,
  openSqliteStorage,
} from '../../../../src/adapters/sqlite/open.ts';
import { DamagedPet } from '../../../../src/application/pets/errors.ts';
import { StorageSetupError } from '../../../../src/application/ports/storage-errors.ts';
import { newPet } from '../../../../src/domain/pet.ts';
import { aKey } from '../../../support/api-keys.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import {
  checkpoint,
  crashImage,
  damage,
  killedWriter,
  newFile,
  openService,
  otherConnection,
  silentLog,
} from '../../../support/sqlite.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });

/** SQLite's default page size. */
const PAGE_BYTES = 4096;

const WAYS = [
  ['a service', async (file: string) => openSqliteStorage(file, silentLog)],
  ['a command that reads', openSqliteForReading],
  ['a command that writes keys', openSqliteKeys],
] as const;

describe('a backup copied over the file of a crashed service, beside the WAL of that service', () => {
  it.each(WAYS)('is refused with advice and left unchanged: %s', async (_, open) => {
    const { file } = await restoredBesideWal({ before: 300, checkpoints: 2 });
    const [pets, wal] = [await readFile(file), await readFile(`${file}-wal`)];

    const opening = open(file);

    await expect(opening).rejects.toThrow(StorageSetupError);
    await expect(opening).rejects.toThrow(
      `the SQLite file ${file} does not match its write-ahead log ${file}-wal; ` +
        `if the file was restored from a backup, remove ${file}-wal and ${file}-shm and start again; ` +
        'otherwise restore a backup',
    );
    expect(pets.equals(await readFile(file))).toBe(true);
    expect(wal.equals(await readFile(`${file}-wal`))).toBe(true);
  });

  it('is the backup again after the operator has followed the advice', async () => {
    const { file } = await restoredBesideWal({ before: 300, checkpoints: 2 });
    await expect(openSqliteStorage(file, silentLog)).rejects.toThrow(StorageSetupError);
    await rm(`${file}-wal`);
    await rm(`${file}-shm`);

    const { pets } = await openService(file);

    expect(await pets.list({ limit: 1000 })).toHaveLength(300);
    expect(otherConnection(file).prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  });

  // Every page that has changed since the backup is in the WAL, so SQLite finds no damage.
  it('is refused even when SQLite finds no damage', async () => {
    const { file } = await restoredBesideWal({ before: 10, checkpoints: 2, withPets: false });
    using db = new DatabaseSync(file, { readOnly: true });
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    db.close();

    await expect(openSqliteStorage(file, silentLog)).rejects.toThrow(/does not match its write-ahead log/);
  });

  it('is accepted when the WAL began at that backup, and then nothing is lost', async () => {
    const { file, keys } = await restoredBesideWal({ before: 300, checkpoints: 0 });

    const storage = await openService(file);

    expect(await storage.pets.list({ limit: 1000 })).toHaveLength(301);
    expect(await storage.keys.list()).toHaveLength(keys);
  });
});

describe('a damaged file beside its own WAL', () => {
  // The first two pages stay whole: the file is still a database with a schema.
  it.each([
    ['all other pages', 2, undefined, { errcode: 11 }],
    ['one page', 4, 5, undefined],
  ])('is refused: %s', async (_, firstPage, endPage, cause) => {
    const file = await afterCrash();
    const bytes = await readFile(file);
    await writeFile(file, bytes.fill(0xff, firstPage * PAGE_BYTES, endPage && endPage * PAGE_BYTES));

    await expect(openSqliteStorage(file, silentLog)).rejects.toMatchObject({
      message: expect.stringContaining('does not match its write-ahead log'),
      cause,
    });
  });

  it('is served when only a single record is damaged', async () => {
    const file = await afterCrash((original) =>
      damage(original, "UPDATE pets SET name = x'ff' WHERE id = 3"),
    );

    const { pets } = await openService(file);

    expect(await pets.findById(2n)).toMatchObject({ id: 2n });
    await expect(pets.findById(3n)).rejects.toThrow(DamagedPet);
  });
});

describe('a WAL without a petstore', () => {
  it('is accepted when the file has no tables yet', async () => {
    const file = await leftBy('CREATE TABLE t (a); DROP TABLE t');

    const { pets } = await openService(file);

    expect(await pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
  });

  it('is refused when the file belongs to another application', async () => {
    const file = await leftBy('CREATE TABLE t (a)');

    for (const [, open] of WAYS) {
      await expect(open(file)).rejects.toThrow(/ belongs to another application; choose another path$/);
    }
  });
});

describe('the WAL of the file itself', () => {
  it('is accepted after every kill -9, whatever checkpoints came before', async () => {
    const file = await newFile();
    for (let round = 0; round < 3; round++) {
      await killedWriter(file, { callers: 8, pets: 700 });
      expect((await stat(`${file}-wal`)).size).toBeGreaterThan(0);

      const { pets, close } = await openSqliteStorage(file, silentLog);
      const stored = await pets.list({ limit: 100_000 });
      await close();

      expect(stored.length).toBeGreaterThanOrEqual(700);
    }
  });

  it('is not checked again while a service has the file open', async () => {
    const file = await newFile();
    const { pets } = await openService(file);
    await pets.insert(rex);
    // A service would refuse to start on this.
    checkpoint(file);
    otherConnection(file).exec("UPDATE sqlite_sequence SET seq = seq + 100 WHERE name <> 'pets'");

    for (const [, open] of WAYS.slice(1)) expect(await (await open(file)).close()).toBeUndefined();
  });
});

/** A backup beside the WAL of a service that had continued with the file and was then killed. */
async function restoredBesideWal({
  before,
  checkpoints,
  withPets = true,
}: {
  readonly before: number;
  readonly checkpoints: number;
  readonly withPets?: boolean;
}): Promise<{ file: string; keys: number }> {
  const clock = fakeClock();
  const original = await newFile();
  const first = await openSqliteStorage(original, silentLog);
  await Promise.all(Array.from({ length: before }, (_, n) => first.pets.insert({ ...rex, name: `${n}` })));
  await first.close();
  const file = await newFile();
  await copyFile(original, file);

  const second = await openService(original);
  let keys = 0;
  for (let n = 0; n < checkpoints; n++) {
    await second.keys.insert(aKey(++keys));
    checkpoint(original);
    // After a second, the next write of the service marks the new generation of the WAL.
    clock.advance(1_000);
  }
  if (withPets) await second.pets.insert(rex);
  else await second.keys.insert(aKey(++keys));

  await copyFile(`${original}-wal`, `${file}-wal`);
  return { file, keys };
}

/** The file and the WAL of a program that has crashed after this. */
async function leftBy(sql: string): Promise<string> {
  const file = await newFile();
  otherConnection(file).exec(`PRAGMA journal_mode = WAL; ${sql}`);
  return crashImage(file);
}

/** The file and the WAL of a service that has crashed with 1,000 pets in each of them. */
async function afterCrash(change: (file: string) => void = () => {}): Promise<string> {
  const original = await newFile();
  const { pets } = await openService(original);
  const insertMany = async () => Promise.all(Array.from({ length: 1_000 }, async () => pets.insert(rex)));
  await insertMany();
  checkpoint(original);
  change(original);
  await insertMany();
  const image = await crashImage(original);
  expect((await stat(`${image}-wal`)).size).toBeGreaterThan(0);
  return image;
}
