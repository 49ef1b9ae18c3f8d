import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { LogDisk } from '../../../src/adapters/sqlite/log-disk.ts';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { type FakeClock, fakeClock } from '../../support/fake-clock.ts';
import { checkpointed, newFile, openService, otherConnection, silentHost } from '../../support/sqlite.ts';
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
  file = await newFile();
  db = otherConnection(file);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (b BLOB)');
  disk = new LogDisk(
    db,
    storageHost((message) => void warnings.push(message)),
  );
  onTestFinished(() => disk.close(true));
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

  it('causes a warning at 16 MiB, at each doubling, when it is small again, and likewise the next time', async () => {
    const hasGrownTo = (mib: number) =>
      `the write-ahead log ${file}-wal has grown to ${mib} MiB, because another program keeps reading the file; ` +
      'stop it';
    for (const [sizes, grown] of [
      [
        [12, 5, 5, 20],
        [17, 42],
      ],
      [[17], [17]],
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

    const warning = `the write-ahead log ${file}-wal could not be checkpointed: unable to open database file (14)`;
    expect(warnings).toStrictEqual([warning, warning]);
  });
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
  const { pets, close } = await openSqliteStorage(file, silentHost);
  const other = otherConnection(file);
  other.exec(`PRAGMA wal_autocheckpoint = 0; CREATE TABLE t AS SELECT zeroblob(${5 * MIB})`);
  other.close();
  await pets.insert(rex);

  await close();

  expect(readdirSync(dirname(file)).toSorted()).toStrictEqual(['petstore.db', 'petstore.db.lock']);
  expect((await stat(`${file}.lock`)).size).toBe(0);
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
