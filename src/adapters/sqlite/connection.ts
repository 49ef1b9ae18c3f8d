import { accessSync, constants, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { fileFormatOf } from '../files/database-files.ts';
import { busyError, withFile } from './errors.ts';

/**
 * Opens a connection that fails with SQLITE_BUSY instead of waiting for a lock, because the wait would block the event
 * loop. `retryWhileBusy` tries again.
 *
 * @param options.immutable whether to ignore the WAL, take no lock and create no file; only for a file that no program
 *   changes
 * @throws {StorageSetupError} when the path does not lead to a file that is safe to use
 * @throws the error of SQLite or `node:fs`
 */
export function connect(
  path: string,
  { readOnly, immutable = false }: { readonly readOnly: boolean; readonly immutable?: boolean },
): DatabaseSync {
  // SQLite would wait forever for the other end of a pipe, and no signal would interrupt it.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    throw new StorageSetupError(`the SQLite file ${path} cannot be opened; check that it is a file`);
  }
  const url = pathToFileURL(path);
  // https://www.sqlite.org/uri.html#uriimmutable
  if (immutable) url.searchParams.set('immutable', '1');
  const db = new DatabaseSync(url, { readOnly, readBigInts: true, timeout: 0 });
  const problem = setupProblem(fileOf(db));
  if (problem === undefined) return db;
  db.close();
  throw new StorageSetupError(problem);
}

function setupProblem(file: string): string | undefined {
  // The name of a WAL derives from the name of its file, so each hard link would get its own WAL:
  // https://www.sqlite.org/howtocorrupt.html#_multiple_links_to_the_same_file
  const { nlink, size } = statSync(file);
  if (nlink !== 1) {
    return `the SQLite file ${file} has ${nlink} hard links; remove all but one, or use a copy`;
  }
  if (sizeBytesOf(`${file}-wal`) === 0) return undefined;
  // SQLite treats a file of at most one byte as new and deletes its WAL, which may hold every pet.
  if (size <= 1) {
    return `the SQLite file ${file} is empty, but its write-ahead log ${file}-wal is not; restore the file`;
  }
  // The first write of a service makes the file a database in WAL mode. Somebody has since put another in its place.
  return fileFormatOf(file) === 1
    ? `the SQLite file ${file} does not match its write-ahead log ${file}-wal; move both away, and restore a backup`
    : undefined;
}

/**
 * The absolute path of the file, with symbolic links resolved.
 *
 * @throws {StorageSetupError} when the database is not in a file
 */
export function fileOf(db: DatabaseSync): string {
  const file = db.location();
  if (file === null) throw new StorageSetupError('the SQLite database has no file');
  return file;
}

/**
 * Makes every commit wait until it is on the disk. A committed transaction then survives a power failure.
 *
 * @see https://www.sqlite.org/pragma.html#pragma_synchronous
 * @throws {StorageSetupError} when the file system does not support WAL mode
 * @throws the error of SQLite
 */
export function makeDurable(db: DatabaseSync): void {
  // `fullfsync` matters on macOS only, where an ordinary fsync leaves the data in the cache of the drive.
  db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON');
  const { journal_mode: mode } = db.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string };
  if (mode !== 'wal') {
    throw new StorageSetupError(
      `the SQLite file ${fileOf(db)} is on a file system without shared memory, which WAL mode needs; ` +
        'move it to a local disk',
    );
  }
}

/**
 * Moves what an earlier process has left in the log into the database, and waits for the disk. That process may have
 * shown it and not flushed it. After a failed flush, syncing the log again would succeed and save nothing.
 *
 * @throws the error of SQLite, SQLITE_BUSY when another program is reading
 */
export function emptyLog(db: DatabaseSync): void {
  const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: bigint };
  if (busy !== 0n) throw busyError();
}

/** Commits all of the work, or none of it. */
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
 * Call it before the first read. SQLite gives the files beside the database the same permissions. If they were created
 * read-only, they would still stop the service after the database itself has become writable.
 *
 * @throws {StorageSetupError} when this process may not write the file
 */
export function refuseReadOnly(db: DatabaseSync): void {
  const file = fileOf(db);
  try {
    accessSync(file, constants.W_OK);
  } catch (cause) {
    throw new StorageSetupError(
      `the SQLite file ${file} cannot be written; check the permissions of the file and of its directory`,
      { cause },
    );
  }
}

/**
 * SQLite does not notice when the end of the last page is missing. With a WAL the file may be short, because a
 * checkpoint has yet to write its last pages.
 *
 * @throws {StorageSetupError} when the file is shorter than its pages
 * @throws the error of SQLite
 */
export function refuseTruncated(db: DatabaseSync): void {
  const file = fileOf(db);
  const { bytes } = db
    .prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size')
    .get() as { bytes: bigint };
  // The page count was read before the sizes: a running service may be growing the file.
  if (sizeBytesOf(file) < bytes && sizeBytesOf(`${file}-wal`) === 0) {
    throw new StorageSetupError(`the SQLite file ${file} is truncated; restore a backup`);
  }
}

function sizeBytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
