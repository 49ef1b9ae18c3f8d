import { accessSync, constants, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';

/** A connection that never waits for another one, because that would block the event loop: `whenFree` tries again. */
export function connect(path: string, options: { readonly readOnly: boolean }): DatabaseSync {
  // SQLite would wait for ever for the other end of a pipe, and no signal would end it.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    throw new StorageSetupError(`the SQLite file ${path} cannot be opened; check that it is a file`);
  }
  const db = new DatabaseSync(path, { ...options, readBigInts: true, timeout: 0 });
  const file = fileOf(db);
  const problem = setupProblem(file);
  if (problem !== undefined) {
    db.close();
    throw new StorageSetupError(problem);
  }
  return db;
}

function setupProblem(file: string): string | undefined {
  // The log has the name of the file, so that each name would have one: https://www.sqlite.org/howtocorrupt.html#_multiple_links_to_the_same_file
  const { nlink } = statSync(file);
  if (nlink !== 1) {
    return `the SQLite file ${file} has ${nlink} names (hard links); leave it only one, or use a copy of the file`;
  }
  // SQLite would take the file for a new one (so it does up to one byte) and delete its log, which may hold every pet.
  if (sizeOf(file) <= 1 && sizeOf(`${file}-wal`) > 0) {
    return `the SQLite file ${file} is empty, but its log ${file}-wal is not: restore it`;
  }
  return undefined;
}

/** Where the file really is: absolute, and the same by whichever symbolic link it was reached. */
export function fileOf(db: DatabaseSync): string {
  const file = db.location();
  if (file === null) throw new StorageSetupError('the SQLite database is in no file');
  return file;
}

/**
 * From now on a transaction is acknowledged only when it is on the disk, so that it survives the loss of power.
 *
 * @see https://www.sqlite.org/pragma.html#pragma_synchronous
 */
export function makeDurable(db: DatabaseSync): void {
  // macOS alone: there an ordinary fsync leaves the data in the cache of the drive.
  db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON');
  const { journal_mode: mode } = db.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string };
  if (mode !== 'wal') {
    throw new StorageSetupError(
      `the SQLite file ${fileOf(db)} is on a file system without shared memory, which is needed; move it to a local disk`,
    );
  }
}

/**
 * To be called before anything is read: SQLite gives what it makes beside the file the permissions of the file. Left
 * behind, that would keep the service from starting when the file itself may be written again.
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

/** SQLite itself overlooks that the end of the last page is missing. What the log holds may not be there yet. */
export function refuseTruncated(db: DatabaseSync): void {
  const file = fileOf(db);
  const { bytes } = db
    .prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size')
    .get() as { bytes: bigint };
  // In this order, because a service may be writing its first pet.
  if (sizeOf(file) < bytes && sizeOf(`${file}-wal`) === 0) {
    throw new StorageSetupError(`the SQLite file ${file} has lost its end: restore a backup`);
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
