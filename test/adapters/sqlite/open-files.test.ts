import { execFile } from 'node:child_process';
import { copyFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openSqliteKeys, openSqliteStorage, type SqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { aKey } from '../../support/api-keys.ts';
import { anArchivedPet } from '../../support/archived-pets.ts';
import { count, newFile, stranger, writer } from '../../support/sqlite.ts';

const run = promisify(execFile);

const rex = newPet({ name: 'Rex', categoryId: 7n });
const now = new Date(1_800_000_000_000);

/** Longer than a look at all parts is good for. */
const LOOK_AGAIN_MS = 1_050;

const WRITES: readonly [string, (storage: SqliteStorage) => Promise<unknown>][] = [
  ['a pet', async ({ pets }) => pets.insert(rex)],
  ['a key', async ({ keys }) => keys.insert(aKey(2))],
  ['a revocation', async ({ keys }) => keys.revoke(aKey(1).id, now)],
  ['an expiry', async ({ keys }) => keys.expire(aKey(1).id, now)],
  ['the use of a key', async ({ keys }) => keys.recordUse(new Map([[aKey(1).id, now]]))],
  ['an import', async ({ archive }) => archive.write([anArchivedPet({ id: 100n })])],
  ['a reservation', async ({ archive }) => archive.reserve(1000n)],
  ['the probe', async ({ probe }) => probe.check()],
];

let file = '';
let warnings: string[] = [];

beforeEach(async () => {
  file = await newFile();
  warnings = [];
});

describe.each(['', '-wal'])('FILE%s', (part) => {
  it.each(WRITES)('that is removed makes a write fail and be told: %s', async (_, write) => {
    const storage = await opened();
    await storage.keys.insert(aKey(1));

    await rm(file + part);

    await expect(write(storage)).rejects.toThrow(StorageUnavailable);
    expect(warnings[0]).toMatch(/^nothing is written until this is mended: /);
    expect(warnings[0]).toContain(`${file}${part} was removed, renamed or replaced: `);
  });

  it('that is renamed makes writes fail until it is back, and reads go on', async () => {
    const { pets, probe } = await opened();
    const pet = await pets.insert(rex);

    await rename(file + part, `${file}-moved`);
    for (let n = 0; n < 3; n++) await expect(pets.insert(rex)).rejects.toThrow(StorageUnavailable);
    await expect(probe.check()).rejects.toThrow('was removed, renamed or replaced');
    expect(await pets.findById(pet.id)).toStrictEqual(pet);
    await rename(`${file}-moved`, file + part);

    const next = await pets.insert(rex);
    expect(await pets.findById(next.id)).toStrictEqual(next);
    // What failed and when it was over, each once.
    expect(warnings.filter((warning) => warning.startsWith('nothing is written'))).toHaveLength(1);
    expect(warnings.at(-1)).toBe(`${file} and what belongs to it are in place again: writing goes on`);
  });

  it('that is replaced by a copy makes writes fail', async () => {
    const { pets } = await opened();
    await pets.insert(rex);

    await copyFile(file + part, `${file}-copy`);
    await rename(`${file}-copy`, file + part);

    await expect(pets.insert(rex)).rejects.toThrow(StorageUnavailable);
  });
});

describe.each(['-shm', '.lock'])('FILE%s', (part) => {
  it('that is removed makes writes fail until it is back', async () => {
    const { pets } = await opened();
    await rename(file + part, `${file}-moved`);

    await expect(pets.insert(rex)).rejects.toThrow(`${file}${part} was removed, renamed or replaced: `);
    expect(warnings).toHaveLength(1);
    await rename(`${file}-moved`, file + part);

    expect((await pets.insert(rex)).name).toBe('Rex');
  });
});

describe('a log that was removed', () => {
  it('is saved in the file as soon as it is noticed, so that not even kill -9 loses anything', async () => {
    const other = writer(file, 4);
    await other.printed(/^50 /m);
    await rm(`${file}-wal`);
    // Its next insert fails, which ends it; before that it saves what it has acknowledged.
    await other.ended;
    const acknowledged = other.stdout.match(/^\d+ \d+ /gm)?.length ?? 0;
    await rm(`${file}-wal`, { force: true });

    expect(acknowledged).toBeGreaterThanOrEqual(50);
    expect(count(stranger(file))).toBeGreaterThanOrEqual(BigInt(acknowledged));
  });

  it('is told to be saved', async () => {
    const { pets } = await opened();
    await rm(`${file}-wal`);
    await expect(pets.insert(rex)).rejects.toThrow(StorageUnavailable);

    expect(warnings).toHaveLength(2);
    expect(warnings[1]).toBe(`what the removed log ${file}-wal held is saved in ${file}`);
  });
});

describe('a file that was renamed', () => {
  it('gets nothing from its old log, because it may belong to another service by now', async () => {
    const first = await opened();
    await first.pets.insert(rex);
    await rename(file, `${file}-elsewhere`);
    await rename(`${file}-wal`, `${file}-elsewhere-wal`);
    const { mtimeMs, size } = await stat(`${file}-elsewhere`);

    await expect(first.pets.insert(rex)).rejects.toThrow(StorageUnavailable);
    await first.close();

    expect(await stat(`${file}-elsewhere`)).toMatchObject({ mtimeMs, size });
    const second = await openSqliteStorage(`${file}-elsewhere`);
    onTestFinished(second.close);
    expect(await second.pets.list({ limit: 1 })).toStrictEqual([{ id: 1n, ...rex }]);
  });

  it('leaves its log where it is when the service stops, so that both can be put together again', async () => {
    const first = await opened();
    await first.pets.insert(rex);
    await rename(file, `${file}-saved`);
    await expect(first.pets.insert(rex)).rejects.toThrow(StorageUnavailable);
    await first.close();
    await rename(`${file}-saved`, file);

    const second = await opened();

    expect((await second.pets.list({ limit: 1 }))[0]).toStrictEqual({ id: 1n, ...rex });
  });
});

describe('a lock that was removed', () => {
  it('lets a second service start; the first one stops writing, and nothing is lost or given twice', async () => {
    const first = await opened();
    const before = await first.pets.insert(rex);
    await rm(`${file}.lock`);

    const second = await opened();
    const ids = [before.id];
    ids.push((await second.pets.insert(rex)).id);
    // What it commits before it notices is committed, and no harm.
    await expect(first.pets.insert(rex)).rejects.toThrow('another service may have the file now');
    ids.push((await second.pets.insert(rex)).id);

    expect(new Set(ids).size).toBe(ids.length);
    const stored = (await second.pets.list({ limit: 100 })).map(({ id }) => id);
    expect(stored).toEqual(expect.arrayContaining(ids));
    expect(stranger(file).prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  });
});

describe('the command line', () => {
  it('says so when the file is taken away while it writes keys', async () => {
    const { keys, close } = await openSqliteKeys(file);
    onTestFinished(close);
    await keys.insert(aKey(1));
    await rm(file);

    await expect(keys.revoke(aKey(1).id, now)).rejects.toThrow(/was removed, renamed or replaced/);
  });
});

describe('a directory whose times are old', () => {
  it('tells a change all the same', async () => {
    const { pets } = await opened();
    // So long that not even the coarsest clock of a file system could mistake one change for another.
    await sleep(2_100);
    for (let n = 0; n < 3; n++) await pets.insert(rex);
    await rm(file);

    await expect(pets.insert(rex)).rejects.toThrow(StorageUnavailable);
  });

  it('need not change: what a mount hides is noticed within a second', async ({ skip }) => {
    const { pets } = await opened();
    const other = await newFile();
    await copyFile(file, other);
    await sleep(2_100);
    await pets.insert(rex);
    try {
      await run('mount', ['--bind', other, file]);
    } catch (error) {
      skip(`no file can be mounted here (that needs root): ${String(error)}`);
    }
    onTestFinished(async () => void (await run('umount', ['--lazy', file])));
    await sleep(LOOK_AGAIN_MS);

    await expect(pets.insert(rex)).rejects.toThrow(StorageUnavailable);
  });
});

describe('a directory that is taken away as a whole', () => {
  it('is noticed, and so is its return', async () => {
    const { pets } = await opened();
    const directory = dirname(file);
    await rename(directory, `${directory}-moved`);
    await expect(pets.insert(rex)).rejects.toThrow(StorageUnavailable);
    await rename(`${directory}-moved`, directory);

    expect((await pets.insert(rex)).name).toBe('Rex');
    expect((await readdir(directory)).length).toBe(4);
  });
});

async function opened(): Promise<SqliteStorage> {
  const storage = await openSqliteStorage(file, { warn: (message) => void warnings.push(message) });
  onTestFinished(() => storage.close());
  return storage;
}
