import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { LogDisk } from '../../../src/adapters/sqlite/log-disk.ts';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import type { StorageMeter } from '../../../src/application/ports/storage-health.ts';
import { type FakeClock, fakeClock } from '../../support/fake-clock.ts';
import { copiedPages, newPath, openService, otherConnection, silentHost } from '../../support/sqlite.ts';
import { rex } from '../../support/pets.ts';
import { storageHost } from '../../support/storage-host.ts';

const MIB = 1024 * 1024;

let file = '';
let db: DatabaseSync;
let disk: LogDisk;
let warnings: string[] = [];
let clock: FakeClock;

beforeEach(async () => {
  clock = fakeClock();
  warnings = [];
  file = await newPath();
  db = otherConnection(file);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (b BLOB)');
  disk = new LogDisk(
    db,
    storageHost((message) => void warnings.push(message)),
  );
  onTestFinished(() => disk.close(true));
});

describe('a write-ahead log', () => {
  it('is checkpointed from 4 MiB on, in a file that keeps its size', async () => {
    write(3);
    await disk.checkpointIfDue();
    expect(copiedPages(db)).toBe(0n);

    write(2);
    const bytes = await walBytes();
    await disk.checkpointIfDue();
    expect(copiedPages(db)).toBeGreaterThan(1_000n);
    write(1);

    expect(await walBytes()).toBe(bytes);
    // The next commit has begun to write at the start of the log.
    expect(copiedPages(db)).toBe(0n);
    expect(warnings).toStrictEqual([]);
  });

  // A write waits while a checkpoint is attempted, and fails after 10 s. So the next attempt comes soon.
  it('is checkpointed 1 s later if a reader prevented the checkpoint', async () => {
    const reader = startReader();
    write(5);
    await disk.checkpointIfDue();
    reader.exec('COMMIT');
    write(1);

    await disk.checkpointIfDue();
    expect(copiedPages(db)).toBeLessThan(1_000n);
    clock.advance(1_000);
    await disk.checkpointIfDue();

    expect(copiedPages(db)).toBeGreaterThan(1_000n);
    expect(warnings).toStrictEqual([]);
  }, 9_000);

  it('causes a warning at 16 MiB and at each doubling, a message when it is small again, and a warning when it grows again', async () => {
    const hasGrownTo = (mib: number) =>
      `the write-ahead log ${file}-wal has grown to ${mib} MiB, because another program keeps reading the file; ` +
      'stop it';
    for (const [writtenMib, warnedMib] of [
      [
        [12, 5, 5, 20],
        [17, 42],
      ],
      [[17], [17]],
    ] as const) {
      const reader = startReader();
      for (const mib of writtenMib) {
        write(mib);
        clock.advance(5_000);
        await disk.checkpointIfDue();
      }
      reader.close();
      clock.advance(5_000);
      await disk.checkpointIfDue();

      const small = `the write-ahead log ${file}-wal is small again: 0 MiB`;
      expect(warnings.splice(0)).toStrictEqual([...warnedMib.map(hasGrownTo), small]);
      expect(await walBytes()).toBe(0);
    }
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  });

  it('causes one warning per 5 s if it cannot be checkpointed', async () => {
    write(5);
    await rename(dirname(file), `${dirname(file)}-moved`);
    for (let n = 0; n < 2; n++) {
      await disk.checkpointIfDue();
      await disk.checkpointIfDue();
      clock.advance(5_000);
    }
    await rename(`${dirname(file)}-moved`, dirname(file));

    const warning = `the write-ahead log ${file}-wal could not be checkpointed: unable to open database file (14)`;
    expect(warnings).toStrictEqual([warning, warning]);
  });
});

describe('the process ends', () => {
  // `fatal` ends the process inside the callback that receives the failure. In this test it only records the message,
  // because no code could catch an error that it throws there.
  const ends: string[] = [];
  const host = { warn() {}, fatal: (message: string) => void ends.push(message) as never };
  const ADVICE =
    'this process ends without closing the file; start petstore again before any other program opens it';

  it.each([
    [
      'a sync of a checkpoint fails',
      (thread: Worker) => thread.emit('message', { code: 1034, text: 'disk I/O error' }),
      'a checkpoint of FILE-wal has failed: disk I/O error',
    ],
    [
      'the thread of the checkpoints has an error',
      (thread: Worker) => thread.emit('error', new Error('out of memory')),
      'the thread that checkpoints FILE-wal has ended: Error: out of memory',
    ],
    [
      'the thread of the checkpoints ends',
      (thread: Worker) => thread.emit('exit', 1),
      'the thread that checkpoints FILE-wal has ended: 1',
    ],
  ])('when %s', async (_, fail, problem) => {
    const other = new LogDisk(db, host);
    write(5);
    const begun = once(process, 'worker');
    const checkpointing = other.checkpointIfDue();
    const [thread] = (await begun) as [Worker];

    fail(thread);

    expect(ends.splice(0)).toStrictEqual([`${problem.replace('FILE', file)}; ${ADVICE}`]);
    await checkpointing;
    await other.close(false);
    expect(ends).toStrictEqual([]);
  });
});

it('the process ends when a third flush begins, which is a bug', async () => {
  const flushing = [disk.flush(), disk.flush()];
  await expect(disk.flush()).rejects.toThrow(`fatal: a bug: a third flush of ${file}-wal; this process ends`);
  await Promise.all(flushing);
});

it('the process ends when the sync of the checkpoint in close() fails', async () => {
  const fatal = vi.fn<(message: string) => never>();
  const other = new LogDisk(db, { warn() {}, fatal });
  vi.spyOn(db, 'exec').mockImplementationOnce(() => {
    throw Object.assign(new Error('disk I/O error'), { errcode: 1034 });
  });

  await other.close(true);

  expect(fatal.mock.calls).toStrictEqual([
    [expect.stringMatching(/^a sync has failed: disk I\/O error; this/)],
  ]);
});

it('a checkpoint begins after a flush of the log, so that it copies only pages that the log cannot lose', async () => {
  write(5);
  const order: string[] = [];
  process.once('worker', () => order.push('thread'));
  const flush = disk.flush.bind(disk);
  disk.flush = async () => flush().then(() => void order.push('flush'));

  await disk.checkpointIfDue();

  expect(order).toStrictEqual(['flush', 'thread']);
});

it('close() empties the log, unless another program reads the file or a file is missing', async () => {
  write(1);
  const bytes = await walBytes();
  const reader = startReader();
  write(1);
  await disk.close(true);
  expect(await walBytes()).toBeGreaterThan(bytes);
  reader.close();
  await disk.close(false);
  expect(await walBytes()).toBeGreaterThan(bytes);

  await disk.close(true);

  expect(await walBytes()).toBe(0);
  expect(warnings).toStrictEqual([]);
});

it('the meter reads the size of the log and the time of the last complete checkpoint', async () => {
  const meter = { insertsCommitted() {}, connection() {}, log: vi.fn<StorageMeter['log']>() };
  const other = new LogDisk(db, storageHost(), meter);
  const [[bytes, checkpointedAt]] = meter.log.mock.calls as [Parameters<StorageMeter['log']>];
  const before = checkpointedAt();
  write(5);
  expect(bytes()).toBe(await walBytes());
  const reader = startReader();
  write(1);
  await other.checkpointIfDue();
  expect(checkpointedAt()).toBe(before);
  reader.close();
  clock.advance(1_000);
  await other.checkpointIfDue();
  expect(checkpointedAt().getTime()).toBeGreaterThan(before.getTime());
  await other.close(true);
});

it('a service keeps its locks and its log when another program writes to its SQLite file and closes it', async () => {
  file = await newPath();
  const { pets } = await openService(file);
  await pets.insert(rex);
  const { ino } = await stat(`${file}-wal`);
  const program = `
    const db = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(file)});
    db.exec("INSERT INTO pets (name, category_id, status, checksum) VALUES ('Tom', 1, 'sold', -1)");
    db.close();`;

  execFileSync(process.execPath, ['-e', program]);

  // SQLite removes the log when the last connection closes the file, so the service's locks must still be there.
  expect(await stat(`${file}-wal`)).toMatchObject({ ino });
  expect((await pets.insert(rex)).id).toBe(3n);
  expect((await pets.list({ limit: 9 })).map(({ name }) => name)).toStrictEqual(['Rex', 'Tom', 'Rex']);
});

it('a stopped service leaves only the file and its empty lock file, also when its close makes a checkpoint', async () => {
  file = await newPath();
  const { pets, close } = await openSqliteStorage(file, silentHost);
  const other = otherConnection(file);
  other.exec(`PRAGMA wal_autocheckpoint = 0; CREATE TABLE t AS SELECT zeroblob(${5 * MIB})`);
  other.close();
  await pets.insert(rex);

  await close();

  expect(readdirSync(dirname(file)).toSorted()).toStrictEqual(['petstore.db', 'petstore.db.lock']);
  expect((await stat(`${file}.lock`)).size).toBe(0);
});

/** Starts another program that reads, and keeps its read transaction open. */
function startReader(): DatabaseSync {
  const reader = otherConnection(file, { readOnly: true });
  reader.exec('BEGIN; SELECT count(*) FROM t');
  return reader;
}

/** @param mib how much the log grows, in MiB */
function write(mib: number): void {
  db.exec(`INSERT INTO t VALUES (zeroblob(${mib * MIB}))`);
}

async function walBytes(): Promise<number> {
  return (await stat(`${file}-wal`)).size;
}
