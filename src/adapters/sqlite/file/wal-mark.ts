import { DatabaseSync } from 'node:sqlite';
import { immutableUrl } from '../connection.ts';
import { isSqliteError } from '../errors.ts';

/**
 * A row of sqlite_sequence that belongs to no table. SQLite allows that: https://www.sqlite.org/autoinc.html
 * Existing files contain this name, so it cannot change.
 */
const NAME = 'petstore log';
const READ = `SELECT seq FROM sqlite_sequence WHERE name = '${NAME}'`;

/**
 * Marks each generation of the write-ahead log (WAL) with a number. After a checkpoint has copied the mark into the
 * file, this function writes the next mark into the WAL. A file that is read through its own WAL therefore shows the
 * mark of the file itself or one more: see {@link isForeignWal}. The first mark is random, to tell files apart.
 *
 * @throws the error of SQLite
 */
export function markWal(db: DatabaseSync, file: string): void {
  const mark = readMark(db);
  if (mark === undefined) {
    db.exec(`INSERT INTO sqlite_sequence VALUES ('${NAME}', abs(random() % 1000000000000))`);
    return;
  }
  if (readMarkWithoutWal(file) !== mark) return;
  db.prepare(`UPDATE sqlite_sequence SET seq = ? WHERE name = '${NAME}' AND seq = ?`).run(mark + 1n, mark);
}

/**
 * Whether the marks show that the WAL was written for another generation of the file, or for another file.
 *
 * @throws the error of SQLite
 */
export function isForeignWal(db: DatabaseSync, file: string): boolean {
  const throughWal = readMark(db);
  const inFile = readMarkWithoutWal(file);
  if (throughWal === undefined || inFile === undefined) return false;
  return throughWal !== inFile && throughWal !== inFile + 1n;
}

/** The next {@link markWal} begins with a new random mark. */
export function removeMark(db: DatabaseSync): void {
  db.exec(`DELETE FROM sqlite_sequence WHERE name = '${NAME}'`);
}

function readMark(db: DatabaseSync): bigint | undefined {
  const row = db.prepare(READ).get() as { seq: bigint } | undefined;
  return row?.seq;
}

function readMarkWithoutWal(file: string): bigint | undefined {
  try {
    using db = new DatabaseSync(immutableUrl(file), { readOnly: true, readBigInts: true });
    return readMark(db);
  } catch (error) {
    // Without its WAL the file may have no tables yet, or be half-way through a checkpoint.
    if (isSqliteError(error)) return undefined;
    throw error;
  }
}
