import { stat } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it } from 'vitest';
import { LogGrowth } from '../../../src/adapters/sqlite/log-growth.ts';
import { newFile, stranger } from '../../support/sqlite.ts';

const MIB = 1024 * 1024;

let file = '';
let db: DatabaseSync;
let growth: LogGrowth;
let warnings: string[] = [];

beforeEach(async () => {
  warnings = [];
  file = await newFile();
  db = stranger(file);
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (b BLOB)');
  growth = new LogGrowth(db, file, { warn: (message) => void warnings.push(message) });
});

describe('a log that grows', () => {
  it('is told at 64 MiB, at each doubling, and when it is small again', async () => {
    for (const mib of [1, 63, 64, 65, 100, 127, 128, 200, 1024, 1025, 2, 1, 64]) growth.note(mib * MIB);
    await growth.close();

    const has = (mib: number) =>
      `the log ${file}-wal has ${mib} MiB and grows: another program has the file open and keeps reading; end that`;
    expect(warnings).toStrictEqual([
      has(64),
      has(128),
      has(1024),
      `the log ${file}-wal is small again: 2 MiB`,
      has(64),
    ]);
  });

  it('is emptied beside the event loop when its reader is gone, and not before', async () => {
    const reader = stranger(file, { readOnly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM t').get();
    db.exec(`INSERT INTO t VALUES (zeroblob(${70 * MIB}))`);

    growth.note(await size());
    // Nor by the connection itself, which would do it in the middle of a commit.
    expect(db.prepare('PRAGMA wal_autocheckpoint').get()).toEqual({ wal_autocheckpoint: 0n });
    await growth.close();
    expect(await size()).toBeGreaterThan(70 * MIB);

    reader.exec('COMMIT');
    const others = new LogGrowth(db, file, { warn: () => {} });
    others.note(await size());
    await others.close();
    expect(await size()).toBe(0);

    growth.note(await size());
    expect(db.prepare('PRAGMA wal_autocheckpoint').get()).toEqual({ wal_autocheckpoint: 1000n });
    expect(warnings.at(-1)).toBe(`the log ${file}-wal is small again: 0 MiB`);
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  });
});

async function size(): Promise<number> {
  return (await stat(`${file}-wal`)).size;
}
