import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { resolveLinks } from '../files/database-files.ts';
import { withFile } from './errors.ts';
import { fileFormatOf } from './file-format.ts';

/**
 * Opens a connection that fails with SQLITE_BUSY instead of blocking the event loop.
 *
 * @param mode `immutable` ignores the WAL, takes no lock and creates no file; only for a file that no program changes
 * @throws {StorageSetupError} when the path does not lead to a usable file
 */
export function connect(path: string, mode: 'write' | 'read' | 'immutable'): DatabaseSync {
  const file = resolveLinks(path);
  const problem = setupProblem(file);
  if (problem !== undefined) throw new StorageSetupError(`the SQLite file ${file} ${problem}`);
  const url = pathToFileURL(file);
  // https://www.sqlite.org/uri.html#uriimmutable
  if (mode === 'immutable') url.searchParams.set('immutable', '1');
  return new DatabaseSync(url, { readOnly: mode !== 'write', readBigInts: true, timeout: 0 });
}

function setupProblem(file: string): string | undefined {
  const stats = statSync(file);
  // SQLite would wait forever for the other end of a pipe, even after a signal.
  if (!stats.isFile()) return 'cannot be opened; check that it is a file';
  // Each hard link would get its own WAL: https://www.sqlite.org/howtocorrupt.html#_multiple_links_to_the_same_file
  if (stats.nlink !== 1) return `has ${stats.nlink} hard links; remove all but one, or use a copy`;
  if (sizeBytesOf(`${file}-wal`) === 0) return undefined;
  // SQLite takes a file of at most one byte as new, and deletes its WAL, which may hold every pet.
  if (stats.size <= 1) return `is empty, but its write-ahead log ${file}-wal is not; restore the file`;
  // A service leaves its file in WAL mode, so another file was put in its place.
  if (fileFormatOf(file) !== 1) return undefined;
  return `does not match its write-ahead log ${file}-wal; move both away, and restore a backup`;
}

/** The absolute path without symbolic links. */
export function fileOf(db: DatabaseSync): string {
  return db.location() ?? ':memory:';
}

/**
 * Makes every commit wait for the disk, so that the commit survives a power failure.
 *
 * @throws {StorageSetupError} when the file system does not support WAL mode
 */
export function makeDurable(db: DatabaseSync): void {
  // The reasons: docs/explanation/group-commit.md#settings-of-the-connection.
  db.exec(
    'PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 0',
  );
  const { journal_mode: mode } = db.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string };
  if (mode !== 'wal') {
    throw new StorageSetupError(
      `the SQLite file ${fileOf(db)} is on a file system without shared memory, which WAL mode needs; ` +
        'move it to a local disk',
    );
  }
}

export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    throw withFile(error, fileOf(db));
  } finally {
    // SQLite itself rolls back after some errors: https://www.sqlite.org/lang_transaction.html
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}

/**
 * Refuses a file that is shorter than its number of pages requires. SQLite does not notice this. With a WAL, the file
 * may be short until the next checkpoint.
 *
 * @throws {StorageSetupError}
 */
export function refuseTruncated(db: DatabaseSync): void {
  const file = fileOf(db);
  const { bytes } = db
    .prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size')
    .get() as { bytes: bigint };
  // Reads the sizes last, because a running service may be growing the file.
  if (sizeBytesOf(file) < bytes && sizeBytesOf(`${file}-wal`) === 0) {
    throw new StorageSetupError(`the SQLite file ${file} is truncated; restore a backup`);
  }
}

export function sizeBytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
