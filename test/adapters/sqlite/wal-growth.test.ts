import { stat } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it } from 'vitest';
import { WalGrowth } from '../../../src/adapters/sqlite/wal-growth.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { newFile, otherConnection, silentLog } from '../../support/sqlite.ts';

const MIB = 1024 * 1024;

let file = '';
let db: DatabaseSync;
let growth: WalGrowth;
let warnings: string[] = [];

beforeEach(async () => {
  warnings = [];
  file = await newFile();
  db = otherConnection(file);
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (b BLOB)');
  growth = new WalGrowth(db, file, { warn: (message) => void warnings.push(message) });
});

describe('a growing WAL', () => {
  it('causes a warning at 64 MiB, at each doubling, and when it is small again', async () => {
    for (const mib of [1, 63, 64, 65, 100, 127, 128, 200, 1024, 1025, 2, 1, 64]) growth.note(mib * MIB);
    await growth.close();

    const hasGrownTo = (mib: number) =>
      `the write-ahead log ${file}-wal has grown to ${mib} MiB, because another program keeps reading the file; ` +
      'stop that program';
    expect(warnings).toStrictEqual([
      hasGrownTo(64),
      hasGrownTo(128),
      hasGrownTo(1024),
      `the write-ahead log ${file}-wal is small again: 2 MiB`,
      hasGrownTo(64),
    ]);
  });

  it('is checkpointed in a worker thread after its reader has gone, and not before', async () => {
    const reader = otherConnection(file, { readOnly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM t').get();
    db.exec(`INSERT INTO t VALUES (zeroblob(${70 * MIB}))`);

    growth.note(await walBytes());
    // The connection itself would checkpoint in the middle of a commit.
    expect(db.prepare('PRAGMA wal_autocheckpoint').get()).toEqual({ wal_autocheckpoint: 0n });
    await growth.close();
    expect(await walBytes()).toBeGreaterThan(70 * MIB);

    reader.exec('COMMIT');
    const another = new WalGrowth(db, file, silentLog);
    another.note(await walBytes());
    await another.close();
    expect(await walBytes()).toBe(0);

    growth.note(await walBytes());
    expect(db.prepare('PRAGMA wal_autocheckpoint').get()).toEqual({ wal_autocheckpoint: 1000n });
    expect(warnings.at(-1)).toBe(`the write-ahead log ${file}-wal is small again: 0 MiB`);
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  });
});

describe('a checkpoint in a worker thread', () => {
  it('that fails causes a warning, and runs again after 5 seconds', async () => {
    const clock = fakeClock();
    const elsewhere = `${file}-none/petstore.db`;
    const failing = new WalGrowth(db, elsewhere, { warn: (message) => void warnings.push(message) });
    const noteTwice = async () => {
      for (let n = 0; n < 2; n++) failing.note(64 * MIB);
      await failing.close();
      return warnings.filter((message) => message.includes('checkpointed')).length;
    };

    expect([await noteTwice(), await noteTwice()]).toStrictEqual([1, 1]);
    clock.advance(4_999);
    expect(await noteTwice()).toBe(1);
    clock.advance(1);
    expect(await noteTwice()).toBe(2);
    // Never two at once, even if one takes longer.
    for (let n = 0; n < 2; n++) {
      clock.advance(5_000);
      failing.note(64 * MIB);
    }
    expect(await noteTwice()).toBe(3);
    expect(warnings.at(-1)).toBe(
      `the write-ahead log ${elsewhere}-wal could not be checkpointed: Error: unable to open database file`,
    );
  });
});

async function walBytes(): Promise<number> {
  return (await stat(`${file}-wal`)).size;
}
