import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { whenFree } from './busy.ts';
import { isBusy, setupError } from './errors.ts';
import { makeFile } from './make-file.ts';

/** How long to wait for the lock, in milliseconds: a command that makes the schema holds it for a moment. */
const LOCK_DEADLINE_MS = 500;

/**
 * Holds a SQLite file for one service. The lock is a transaction on an empty file beside it: the operating system
 * ends it with the process, `kill -9` included. A lock file that is left behind locks nothing. The service never removes
 * it, because another process may have locked it by then.
 *
 * When an operator removes it, a second service can start. Both then write through SQLite's own locks on the file:
 * nothing is lost, and no id is given twice. The first service stops writing when it notices: see `OpenFiles`.
 *
 * The lock goes by name. A file with a second name (a hard link) is refused by `connect`. A file that is mounted under
 * two names is not noticed.
 *
 * @param file from `fileOf`, so that two paths to one file are one lock
 * @returns what to close to release it
 * @throws {StorageSetupError} when another service holds it
 */
export async function takeLock(file: string): Promise<DatabaseSync> {
  const path = lockOf(file);
  try {
    makeFile(path);
    using opened = new DisposableStack();
    const lock = opened.use(new DatabaseSync(path, { timeout: 0 }));
    // Else it would make a journal, and leave it behind.
    lock.exec('PRAGMA journal_mode = MEMORY');
    await whenFree(() => lock.exec('BEGIN EXCLUSIVE'), LOCK_DEADLINE_MS);
    opened.move();
    return lock;
  } catch (error) {
    if (!isBusy(error)) throw setupError(path, error);
    throw new StorageSetupError(
      `the SQLite file ${file} is in use by another petstore service; stop that first`,
      { cause: error },
    );
  }
}

/** Whether a service holds the file now. Takes nothing and makes nothing. */
export function isLocked(file: string): boolean {
  const path = lockOf(file);
  if (!existsSync(path)) return false;
  using lock = new DatabaseSync(path, { readOnly: true, timeout: 0 });
  try {
    lock.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  }
}

/** The path of the lock of a file. */
export function lockOf(file: string): string {
  return `${file}.lock`;
}
