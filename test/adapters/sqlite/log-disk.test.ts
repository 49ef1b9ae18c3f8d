import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { open, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { emptyLog, fileOf } from '../../../src/adapters/sqlite/connection.ts';
import { LogDisk } from '../../../src/adapters/sqlite/log-disk.ts';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { type FakeClock, fakeClock } from '../../support/fake-clock.ts';
import { openFilesIn } from '../../support/open-files.ts';
import {
  checkpointed,
  newDatabase,
  newFile,
  openService,
  otherConnection,
  silentLog,
} from '../../support/sqlite.ts';
import { rex } from '../../support/pets.ts';

const MIB = 1024 * 1024;

let file = '';
let db: DatabaseSync;
let disk: LogDisk;
let warnings: string[] = [];
let clock: FakeClock;

beforeEach(async () => {
  clock = fakeClock();
  warnings = [];
  file = await newFile();
  db = otherConnection(file);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (b BLOB)');
  const { ino } = await stat(`${file}-wal`, { bigint: true });
  disk = new LogDisk(db, ino, { warn: (message) => void warnings.push(message) });
  onTestFinished(() => disk.close());
});

describe('a log', () => {
  it('is checkpointed from 4 MiB on, in a file that keeps its size', async () => {
    write(3);
    await disk.checkpointIfDue();
    expect(checkpointed(db)).toBe(0n);

    write(2);
    const bytes = await walBytes();
    await disk.checkpointIfDue();
    expect(checkpointed(db)).toBeGreaterThan(1_000n);
    write(1);

    expect(await walBytes()).toBe(bytes);
    // The next commit has begun it again.
    expect(checkpointed(db)).toBe(0n);
    expect(warnings).toStrictEqual([]);
  });

  // A write waits during each attempt, and fails after 10 s.
  it('that a reader keeps from being checkpointed is tried again after a second', async () => {
    const reader = readerOf();
    write(5);
    await disk.checkpointIfDue();
    reader.exec('COMMIT');
    write(1);

    await disk.checkpointIfDue();
    expect(checkpointed(db)).toBeLessThan(1_000n);
    clock.advance(1_000);
    await disk.checkpointIfDue();

    expect(checkpointed(db)).toBeGreaterThan(1_000n);
    expect(warnings).toStrictEqual([]);
  }, 9_000);

  it('causes a warning at 64 MiB, at each doubling, when it is small again, and likewise the next time', async () => {
    const hasGrownTo = (mib: number) =>
      `the write-ahead log ${file}-wal has grown to ${mib} MiB, because another program keeps reading the file; ` +
      'stop it';
    for (const [sizes, grown] of [
      [
        [60, 5, 5, 60],
        [65, 131],
      ],
      [[65], [65]],
    ] as const) {
      const reader = readerOf();
      for (const mib of sizes) {
        write(mib);
        clock.advance(5_000);
        await disk.checkpointIfDue();
      }
      reader.close();
      clock.advance(5_000);
      await disk.checkpointIfDue();

      const small = `the write-ahead log ${file}-wal is small again: 0 MiB`;
      expect(warnings.splice(0)).toStrictEqual([...grown.map(hasGrownTo), small]);
      expect(await walBytes()).toBe(0);
    }
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  });

  it('that cannot be checkpointed causes a warning every 5 seconds', async () => {
    write(5);
    await rename(dirname(file), `${dirname(file)}-moved`);
    for (let n = 0; n < 2; n++) {
      await disk.checkpointIfDue();
      await disk.checkpointIfDue();
      clock.advance(5_000);
    }
    await rename(`${dirname(file)}-moved`, dirname(file));

    const warning = `the write-ahead log ${file}-wal could not be checkpointed: Error: unable to open database file`;
    expect(warnings).toStrictEqual([warning, warning]);
  });
});

describe('after a failed flush', () => {
  it('a log of any size is checkpointed', async () => {
    write(1);

    await disk.recover();

    expect(checkpointed(db)).toBeGreaterThan(200n);
  });

  it('a checkpoint whose thread has failed is made by another one, whose end a close waits for', async () => {
    const threads: Worker[] = [];
    const begun = (thread: Worker) => void threads.push(thread);
    process.on('worker', begun);
    onTestFinished(() => void process.off('worker', begun));
    const failed = disk.recover().catch(String);
    await once(process, 'worker');
    threads[0]?.emit('error', new Error('out of memory'));
    expect(await failed).toContain('out of memory');
    // It is still running here, and must not be in the way.
    await once(threads[0]!, 'message');

    await disk.recover();

    expect(threads).toHaveLength(2);
    await threads[0]?.terminate();
    await disk.close();
    // It has ended.
    expect(threads[1]?.threadId).toBe(-1);
  });

  it('fails while a reader is in the way', async () => {
    readerOf();
    write(1);

    await expect(disk.recover()).rejects.toMatchObject({
      kind: 'storage-unavailable',
      message: expect.stringMatching(/^the log cannot be checkpointed: another program keeps reading/),
    });
  });

  // The kernel marks pages that it could not write as clean, and may then drop them.
  it.each([0, 32, 48, 100, 250_000, -4])(
    'does not checkpoint a log that has lost what was at byte %i (negative: before its end)',
    async (at) => {
      write(1);
      await using log = await open(`${file}-wal`, 'r+');
      const position = at < 0 ? (await walBytes()) + at : at;
      await log.write(Buffer.from([0, 1, 2, 3]), 0, 4, position);

      await expect(disk.recover()).rejects.toThrow('its end is lost; end the service with SIGKILL');

      expect(checkpointed(db)).toBe(0n);
    },
  );
});

it('the descriptors of a log are two, of the file that the connection has open, and are opened anew after a recovery', async ({
  skip,
}) => {
  if (process.platform !== 'linux') skip('only Linux lists the open files of a process');
  const descriptors = async () => (await openFilesIn(dirname(file))).filter((path) => path.endsWith('-wal'));
  const withoutDisk = (await descriptors()).length - 2;

  await Promise.all([disk.flush(), disk.flush()]);
  await disk.recover();

  // The thread of the checkpoints has one, too.
  expect(await descriptors()).toHaveLength(withoutDisk + 3);
  expect(checkpointed(db)).toBeGreaterThan(0n);
  await disk.close();
  expect(await descriptors()).toHaveLength(withoutDisk);
});

it('the descriptors of a log are used again after a flush that failed', async ({ skip }) => {
  if (process.platform !== 'linux') skip('only Linux lists the open files of a process');
  const device = '/dev/null';
  const { ino } = await stat(device, { bigint: true });
  const other = otherConnection(await newFile());
  // A new file would lose its log.
  other.exec('CREATE TABLE t (b BLOB)');
  await symlink(device, `${fileOf(other)}-wal`);
  const before = await openFilesIn(device);
  const failing = new LogDisk(other, ino, silentLog);

  for (let n = 0; n < 3; n++) await expect(failing.flush()).rejects.toMatchObject({ code: 'EINVAL' });

  await failing.close();
  expect(await openFilesIn(device)).toStrictEqual(before);
});

it('the descriptors of a log are never of a file that was put in its place', async () => {
  await disk.recover();
  await rename(`${file}-wal`, `${file}-moved`);
  await writeFile(`${file}-wal`, '');

  await expect(disk.recover()).rejects.toMatchObject({ kind: 'storage-unavailable' });

  await rename(`${file}-moved`, `${file}-wal`);
  await disk.recover();
});

it('another SQLite may write and close the file of a service, which keeps its locks and its log', async () => {
  file = await newFile();
  const { pets } = await openService(file);
  await pets.insert(rex);
  const { ino } = await stat(`${file}-wal`);
  const program = `
    const db = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(file)});
    db.exec("INSERT INTO pets (name, category_id, status, checksum) VALUES ('Tom', 1, 'sold', -1)");
    db.close();`;

  execFileSync(process.execPath, ['-e', program]);

  // The last connection that closes a file removes its log.
  expect(await stat(`${file}-wal`)).toMatchObject({ ino });
  expect((await pets.insert(rex)).id).toBe(3n);
  expect((await pets.list({ limit: 9 })).map(({ name }) => name)).toStrictEqual(['Rex', 'Tom', 'Rex']);
});

it('a stop is over when the file is alone but for its empty lock, also after a checkpoint', async () => {
  file = await newFile();
  const { pets, close } = await openSqliteStorage(file, silentLog);
  const other = otherConnection(file);
  other.exec(`PRAGMA wal_autocheckpoint = 0; CREATE TABLE t AS SELECT zeroblob(${5 * MIB})`);
  other.close();
  await pets.insert(rex);

  await close();

  expect(readdirSync(dirname(file)).toSorted()).toStrictEqual(['petstore.db', 'petstore.db.lock']);
  expect((await stat(`${file}.lock`)).size).toBe(0);
});

it('a start empties a log that a killed service has left, before anything is shown', async () => {
  ({ file, db } = await newDatabase());
  db.exec("INSERT INTO pets (name, category_id, status, checksum) VALUES ('Tom', 1, 'sold', -1)");
  const before = await stat(`${file}-wal`);

  const { pets } = await openService(file);

  expect(await pets.list({ limit: 9 })).toHaveLength(1);
  expect((await stat(`${file}-wal`)).size).toBeLessThan(before.size);
  // The pet is in the file itself.
  expect((await readFile(file)).includes('Tom')).toBe(true);
});

it('a start waits while another program reads what is not in the file yet', async () => {
  ({ file, db } = await newDatabase());
  const reader = otherConnection(file, { readOnly: true });
  reader.exec('BEGIN; SELECT count(*) FROM pets');
  db.exec("INSERT INTO pets (name, category_id, status, checksum) VALUES ('Tom', 1, 'sold', -1)");

  expect(() => emptyLog(db)).toThrow(expect.objectContaining({ errcode: 5 }));

  reader.exec('COMMIT');
  emptyLog(db);
  expect((await stat(`${file}-wal`)).size).toBe(0);
});

/** Another program that begins to read now, and does not end. */
function readerOf(): DatabaseSync {
  const reader = otherConnection(file, { readOnly: true });
  reader.exec('BEGIN; SELECT count(*) FROM t');
  return reader;
}

/** @param mib of the log */
function write(mib: number): void {
  db.exec(`INSERT INTO t VALUES (zeroblob(${mib * MIB}))`);
}

async function walBytes(): Promise<number> {
  return (await stat(`${file}-wal`)).size;
}
