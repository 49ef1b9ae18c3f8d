import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { isSqliteError } from './errors.ts';

/** A row of sqlite_sequence that stands for no table: https://www.sqlite.org/autoinc.html lets applications have it. */
const NAME = 'petstore log';
const READ = `SELECT seq FROM sqlite_sequence WHERE name = '${NAME}'`;

/**
 * Gives the write-ahead log a mark that is one more than that of the file alone, as soon as a checkpoint has brought the
 * last mark there. So the mark that is seen through a log is that of its file or one more, and a log that belongs to
 * another generation of the file can be told: {@link isForeignLog}. The first mark is random, and so tells files apart.
 */
export function markLog(db: DatabaseSync, file: string): void {
  const now = markIn(db);
  if (now === undefined) {
    db.exec(`INSERT INTO sqlite_sequence VALUES ('${NAME}', abs(random() % 1000000000000))`);
    return;
  }
  const inFile = markOfFileAlone(file);
  if (inFile !== now) return;
  db.prepare(`UPDATE sqlite_sequence SET seq = ? WHERE name = '${NAME}' AND seq = ?`).run(now + 1n, now);
}

/** The log beside the file was written for another generation of it, as far as the marks tell. */
export function isForeignLog(db: DatabaseSync, file: string): boolean {
  const [throughLog, inFile] = [markIn(db), markOfFileAlone(file)];
  if (throughLog === undefined || inFile === undefined) return false;
  return throughLog !== inFile && throughLog !== inFile + 1n;
}

function markIn(db: DatabaseSync): bigint | undefined {
  const row = db.prepare(READ).get() as { seq: bigint } | undefined;
  return row?.seq;
}

/** `immutable` makes SQLite overlook the log: https://www.sqlite.org/uri.html#uriimmutable */
function markOfFileAlone(file: string): bigint | undefined {
  const url = pathToFileURL(file);
  url.searchParams.set('immutable', '1');
  try {
    using db = new DatabaseSync(url, { readOnly: true, readBigInts: true });
    return markIn(db);
  } catch (error) {
    // Without its log a file may have no tables yet, or be in the middle of a checkpoint.
    if (isSqliteError(error)) return undefined;
    throw error;
  }
}
