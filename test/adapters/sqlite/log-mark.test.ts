import { copyFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { isForeignLog, markLog } from '../../../src/adapters/sqlite/log-mark.ts';
import { newFile, stranger } from '../../support/sqlite.ts';

const MARK = "SELECT seq FROM sqlite_sequence WHERE name = 'petstore log'";

describe('the mark of a log', () => {
  it('is one more than that of the file, and raised when a checkpoint has brought it there, not before', async () => {
    const { file, db, mark } = await marked();
    const first = mark();

    markLog(db, file);
    expect(mark()).toBe(first);
    db.exec('PRAGMA wal_checkpoint');
    for (let n = 0; n < 3; n++) markLog(db, file);
    expect(mark()).toBe(first + 1n);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    for (let n = 0; n < 3; n++) markLog(db, file);
    expect(mark()).toBe(first + 2n);
  });

  it('is that of the file itself after any number of checkpoints', async () => {
    const { file, db } = await marked();

    for (let n = 0; n < 5; n++) {
      expect(isForeignLog(db, file)).toBe(false);
      markLog(db, file);
      expect(isForeignLog(db, file)).toBe(false);
      db.exec('PRAGMA wal_checkpoint');
    }
  });

  it.each([
    [0, false],
    [1, false],
    [2, true],
    [3, true],
  ])('that is %i generations after a backup is foreign to it: %s', async (generations, foreign) => {
    const { file, db } = await marked();
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const restored = await newFile();
    await copyFile(file, restored);
    for (let n = 0; n < generations; n++) {
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      markLog(db, file);
    }
    db.exec('CREATE TABLE more (a)');
    await copyFile(`${file}-wal`, `${restored}-wal`);

    expect(isForeignLog(stranger(restored, { readOnly: true }), restored)).toBe(foreign);
  });

  it('is another one for another file', async () => {
    const [one, other] = [await marked(), await marked()];

    expect(one.mark()).not.toBe(other.mark());
  });

  it('does no harm when somebody has removed it', async () => {
    const { file, db, mark } = await marked();
    db.exec('PRAGMA wal_checkpoint; DELETE FROM sqlite_sequence');

    expect(isForeignLog(db, file)).toBe(false);
    markLog(db, file);
    expect(mark()).toBeTypeOf('bigint');
  });
});

async function marked() {
  const file = await newFile();
  const db = stranger(file);
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT)');
  markLog(db, file);
  return { file, db, mark: () => (db.prepare(MARK).get() as { seq: bigint }).seq };
}
