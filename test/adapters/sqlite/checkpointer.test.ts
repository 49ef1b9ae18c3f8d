import { open, stat } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Checkpointer } from '../../../src/adapters/sqlite/checkpointer.ts';
import { type FakeClock, fakeClock } from '../../support/fake-clock.ts';
import { checkpointed, newFile, otherConnection } from '../../support/sqlite.ts';

const MIB = 1024 * 1024;

let file = '';
let db: DatabaseSync;
let checkpointer: Checkpointer;
let warnings: string[] = [];
let clock: FakeClock;

beforeEach(async () => {
  clock = fakeClock();
  warnings = [];
  file = await newFile();
  db = otherConnection(file);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (b BLOB)');
  checkpointer = checkpointerOf(file);
});

describe('a log', () => {
  it('is checkpointed from 4 MiB on, in a file that keeps its size', async () => {
    write(3);
    await checkpointer.runIfDue();
    expect(checkpointed(db)).toBe(0n);

    write(2);
    const bytes = await walBytes();
    await checkpointer.runIfDue();
    expect(checkpointed(db)).toBeGreaterThan(1_000n);
    write(1);

    expect(await walBytes()).toBe(bytes);
    // The next commit has begun it again.
    expect(checkpointed(db)).toBe(0n);
    expect(warnings).toStrictEqual([]);
  });

  it('that a reader keeps from being checkpointed is tried again after 5 seconds', async () => {
    const reader = readerOf();
    write(5);
    await checkpointer.runIfDue();
    reader.exec('COMMIT');
    write(1);

    await checkpointer.runIfDue();
    expect(checkpointed(db)).toBeLessThan(1_000n);
    clock.advance(5_000);
    await checkpointer.runIfDue();

    expect(checkpointed(db)).toBeGreaterThan(1_000n);
    expect(warnings).toStrictEqual([]);
  });

  it('causes a warning at 64 MiB, at each doubling, and when it is small again', async () => {
    const reader = readerOf();
    for (const mib of [60, 5, 5, 60]) {
      write(mib);
      clock.advance(5_000);
      await checkpointer.runIfDue();
    }
    reader.exec('COMMIT');
    clock.advance(5_000);
    await checkpointer.runIfDue();

    const hasGrownTo = (mib: number) =>
      `the write-ahead log ${file}-wal has grown to ${mib} MiB, because another program keeps reading the file; ` +
      'stop that program';
    expect(warnings).toStrictEqual([
      hasGrownTo(65),
      hasGrownTo(131),
      `the write-ahead log ${file}-wal is small again: 0 MiB`,
    ]);
    expect(await walBytes()).toBe(0);
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  });
});

describe('a checkpoint', () => {
  it('that fails causes a warning, and another thread makes the next one', async () => {
    const elsewhere = `${file}-none/petstore.db`;
    const failing = checkpointerOf(elsewhere);
    write(5);
    for (let n = 0; n < 2; n++) {
      await failing.runIfDue();
      await failing.runIfDue();
      clock.advance(5_000);
    }

    const warning = `the write-ahead log ${elsewhere}-wal could not be checkpointed: Error: unable to open database file`;
    expect(warnings).toStrictEqual([warning, warning]);
  });
});

describe('after a failed flush', () => {
  it('a log of any size is checkpointed', async () => {
    write(1);

    await checkpointer.recover();

    expect(checkpointed(db)).toBeGreaterThan(200n);
  });

  it('fails while a reader is in the way', async () => {
    readerOf();
    write(1);

    await expect(checkpointer.recover()).rejects.toMatchObject({
      kind: 'storage-unavailable',
      message: `the write-ahead log ${file}-wal could not be checkpointed: busy`,
    });
  });

  // The kernel marks pages that it could not write as clean, and may then drop them.
  it.each([0, 24, 32, 48, 100, 250_000])(
    'does not checkpoint a log that has lost what was at byte %i',
    async (at) => {
      write(1);
      await using log = await open(`${file}-wal`, 'r+');
      await log.write(Buffer.from([0, 1, 2, 3]), 0, 4, at);

      await expect(checkpointer.recover()).rejects.toThrow('its end is lost; end the service with SIGKILL');

      expect(checkpointed(db)).toBe(0n);
    },
  );
});

function checkpointerOf(path: string): Checkpointer {
  const made = new Checkpointer(db, path, { warn: (message) => void warnings.push(message) });
  onTestFinished(() => made.close());
  return made;
}

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
