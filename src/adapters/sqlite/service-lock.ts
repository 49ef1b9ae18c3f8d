import { existsSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { FILE_MODE } from '../files/durable-files.ts';
import { isBusy, retryWhileBusy, setupError } from './errors.ts';

/** How long to wait for the lock. A command that writes pets may hold it for a moment. */
const LOCK_TIMEOUT_MS = 500;

/**
 * Reserves a SQLite file for one service. The lock is an open transaction on an empty file beside it. The operating
 * system releases it when the process ends, even after `kill -9`. A leftover lock file locks nothing. The service never
 * deletes it, because another process may have locked it in the meantime.
 *
 * If an operator deletes the lock file, a second service can start. SQLite's own locks then keep the writes of both
 * apart: no pet is lost, and no id is used twice. The first service notices and stops writing: see `FileGuard`.
 *
 * The lock depends on the name of the file. `connect` refuses a file with a second name (a hard link). A file that is
 * mounted at two paths goes unnoticed.
 *
 * @param file the result of `fileOf`, so that every path to the file leads to the same lock
 * @returns the connection whose end releases the lock
 * @throws {StorageSetupError} when another service holds the lock, or the lock file cannot be used
 */
export async function takeServiceLock(file: string): Promise<DatabaseSync> {
  const path = serviceLockPath(file);
  try {
    if (!existsSync(path)) writeFileSync(path, '', { flag: 'a', mode: FILE_MODE });
    using opened = new DisposableStack();
    const lock = opened.use(new DatabaseSync(path, { timeout: 0 }));
    // Without the pragma, SQLite would leave a rollback journal on the disk. While the file is locked, it fails too.
    await retryWhileBusy(() => lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE'), LOCK_TIMEOUT_MS);
    opened.move();
    return lock;
  } catch (error) {
    if (!isBusy(error)) throw setupError(path, error);
    throw new StorageSetupError(
      `the SQLite file ${file} is in use by another petstore service; stop that service first`,
      { cause: error },
    );
  }
}

export function serviceLockPath(file: string): string {
  return `${file}.lock`;
}
