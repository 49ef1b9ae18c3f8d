import { copyFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { isForeignWal, markWal, removeMark } from '../../../../src/adapters/sqlite/file/wal-mark.ts';
import { newFile, otherConnection } from '../../../support/sqlite.ts';

const MARK = "SELECT seq FROM sqlite_sequence WHERE name = 'petstore log'";

describe('the mark of a WAL', () => {
  it('is raised once after each checkpoint, to one more than the mark in the file', async () => {
    const { file, db, mark } = await marked();
    const first = mark();

    markWal(db, file);
    expect(mark()).toBe(first);
    db.exec('PRAGMA wal_checkpoint');
    for (let n = 0; n < 3; n++) markWal(db, file);
    expect(mark()).toBe(first + 1n);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    for (let n = 0; n < 3; n++) markWal(db, file);
    expect(mark()).toBe(first + 2n);
  });

  it('matches its own file after any number of checkpoints', async () => {
    const { file, db } = await marked();

    for (let n = 0; n < 5; n++) {
      expect(isForeignWal(db, file)).toBe(false);
      markWal(db, file);
      expect(isForeignWal(db, file)).toBe(false);
      db.exec('PRAGMA wal_checkpoint');
    }
  });

  it.each([
    [0, false],
    [1, false],
    [2, true],
    [3, true],
  ])('%i generations after a backup is foreign to that backup: %s', async (generations, foreign) => {
    const { file, db } = await marked();
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const restored = await newFile();
    await copyFile(file, restored);
    for (let n = 0; n < generations; n++) {
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      markWal(db, file);
    }
    db.exec('CREATE TABLE more (a)');
    await copyFile(`${file}-wal`, `${restored}-wal`);

    expect(isForeignWal(otherConnection(restored, { readOnly: true }), restored)).toBe(foreign);
  });

  it('differs from file to file', async () => {
    const [one, other] = [await marked(), await marked()];

    expect(one.mark()).not.toBe(other.mark());
  });

  it('begins at another number after it was removed', async () => {
    const { file, db, mark } = await marked();
    const first = mark();

    removeMark(db);
    expect(db.prepare(MARK).get()).toBeUndefined();
    markWal(db, file);

    expect(mark()).not.toBe(first);
  });

  it('may be deleted by an operator', async () => {
    const { file, db, mark } = await marked();
    db.exec('PRAGMA wal_checkpoint; DELETE FROM sqlite_sequence');

    expect(isForeignWal(db, file)).toBe(false);
    markWal(db, file);
    expect(mark()).toBeTypeOf('bigint');
  });
});

async function marked() {
  const file = await newFile();
  const db = otherConnection(file);
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT)');
  markWal(db, file);
  return { file, db, mark: () => (db.prepare(MARK).get() as { seq: bigint }).seq };
}
