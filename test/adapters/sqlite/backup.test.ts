import { statSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { backUp, restore } from '../../../src/adapters/sqlite/backup.ts';
import { openSqliteForReading } from '../../../src/adapters/sqlite/open.ts';
import type { Progress } from '../../../src/application/ports/pet-archive.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { aKey } from '../../support/api-keys.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import {
  damage,
  fileWith,
  integrityOf,
  newPath,
  newService,
  openKeys,
  otherConnection,
  takeWriteLock,
  startWriter,
} from '../../support/sqlite.ts';

const PETS = archivedPets(300);
const ignoreProgress = () => {};

/** Opens a service, and stores pets and a key in its file. Resolves with the file and a path for its copy. */
async function serveFile(pets = PETS) {
  const { file, archive, keys } = await newService();
  await archive.write(pets);
  await keys.insert(aKey(1));
  return { file, copy: join(dirname(file), 'backup.db') };
}

/** Makes a file of 20 MB. SQLite backs it up in several steps. */
async function makeLargeFile(): Promise<{ file: string; copy: string }> {
  const file = await fileWith([]);
  using db = new DatabaseSync(file);
  db.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000)
    INSERT INTO pets (name, category_id, status) SELECT hex(zeroblob(125)), i, 'sold' FROM n`);
  return { file, copy: join(dirname(file), 'backup.db') };
}

async function expectRefused(working: Promise<unknown>, message: string | RegExp): Promise<void> {
  const refusal = { kind: 'storage-setup', message: expect.stringMatching(message) };
  await expect(working).rejects.toMatchObject(refusal);
}

describe('a backup of a SQLite file', () => {
  it('has the pets and keys that a service has stored, in one file that only its owner can read', async () => {
    const { file, copy } = await serveFile();
    const before = await readdir(dirname(file));

    await backUp(file, copy, ignoreProgress);

    expect((await readdir(dirname(file))).toSorted()).toStrictEqual([...before, 'backup.db'].toSorted());
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
    const { archive, keys, close } = await openSqliteForReading(copy);
    onTestFinished(close);
    expect(await archive.read(0n, 1000)).toStrictEqual(PETS);
    expect(await archive.lastId()).toBe(PETS.at(-1)!.id + 1_000_000_000_000n);
    expect(await keys.list()).toStrictEqual([aKey(1)]);
    expect(otherConnection(copy).prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'delete' });
  });

  it.each([
    ['no pet yet', 'DELETE FROM pets; DELETE FROM sqlite_sequence', 1_000_000_000_000n],
    ['almost all ids assigned', 'UPDATE sqlite_sequence SET seq = 9007199254740990', MAX_PET_ID],
  ])('continues with ids that were never assigned: %s', async (_, change, last) => {
    const { file, copy } = await serveFile();
    otherConnection(file).exec(change);

    await backUp(file, copy, ignoreProgress);

    const { archive, close } = await openSqliteForReading(copy);
    onTestFinished(close);
    expect(await archive.lastId()).toBe(last);
  });

  it('is a consistent snapshot, and always readable by its owner only, while another process writes', async () => {
    const { file, copy } = await makeLargeFile();
    const service = startWriter(file, 4);
    const [, acknowledged] = await service.printed(/^(\d+) .*\n$/m);
    const shares: number[] = [];

    await backUp(file, copy, ({ doing, done, total = 0 }: Progress) => {
      expect(doing).toBe('backing up');
      expect(statSync(`${copy}.partial`).mode & 0o777).toBe(0o600);
      shares.push(done / total);
    });

    expect([service.hasEnded, service.stderr]).toStrictEqual([false, '']);
    await service.kill();
    // The shares never decrease, so the backup never began again.
    expect(shares).toStrictEqual(shares.toSorted((a, b) => a - b));
    expect(shares.length).toBeGreaterThan(3);
    const { n } = otherConnection(copy).prepare('SELECT count(*) AS n FROM pets').get() as { n: bigint };
    expect(n).toBeGreaterThanOrEqual(70_000n + BigInt(acknowledged!));
    expect(integrityOf(copy)).toBe('ok');
  });

  it('contains a damaged pet unchanged', async () => {
    const { file, copy } = await serveFile();
    damage(file, `UPDATE pets SET status = 'eaten' WHERE id = 1`);
    await backUp(file, copy, ignoreProgress);
    expect(otherConnection(copy).prepare('SELECT status FROM pets WHERE id = 1').get()).toEqual({
      status: 'eaten',
    });
  });
});

it('a backup is refused when the database is damaged', async () => {
  const file = await fileWith(archivedPets(2000));
  const bytes = await readFile(file);
  const copy = join(dirname(file), 'backup.db');
  // Pages of pets are overwritten. The header and the schema stay as they are.
  await writeFile(file, bytes.fill(0xff, 10 * 4096, 14 * 4096));

  await expectRefused(backUp(file, copy, ignoreProgress), /is damaged; nothing was written$/);
  expect((await readdir(dirname(file))).filter((name) => name.startsWith('backup'))).toStrictEqual([]);
});

it('a restore is refused when a command creates the database at the same time, and keeps the key of that command', async () => {
  const { file, copy } = await makeLargeFile();
  await backUp(file, copy, ignoreProgress);
  const target = await newPath();
  let creating: ReturnType<typeof openKeys> | undefined;
  const restoring = restore(target, copy, () => {
    // The restore holds the service lock, so no service can start.
    expect(() => takeWriteLock(`${target}.lock`)).toThrow('locked');
    // The command creates the file now, and writes its key after the restore.
    creating ??= openKeys(target);
  });
  await expectRefused(restoring, `${target} exists, and restore replaces nothing; `);
  const { keys, close } = await creating!;
  onTestFinished(close);
  await keys.insert(aKey(1));
  expect(await keys.list()).toStrictEqual([aKey(1)]);
  expect((await readdir(dirname(target))).filter((name) => name.includes('partial'))).toStrictEqual([]);
});
