import { existsSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { FILE_MODE } from '../files/durable-files.ts';
import { BUSY_TIMEOUT_MS, isBusy, retryWhileBusy, setupError } from './errors.ts';

/** The longest wait. A command that writes may hold the lock for a moment. */
const LOCK_TIMEOUT_MS = 500;

/**
 * Reserves a file for one process that writes: see docs/explanation/group-commit.md#who-may-open-the-file.
 *
 * @param file the result of `fileOf`
 * @param mayShare whether the caller may work while another process holds the lock
 * @returns the connection that holds the lock until it is closed; `undefined` if another process holds the lock
 * @throws {StorageSetupError} when another process holds the lock, or the lock file cannot be used
 */
export async function takeServiceLock(file: string, mayShare = false): Promise<DatabaseSync | undefined> {
  const path = serviceLockPath(file);
  using resources = new DisposableStack();
  try {
    if (!existsSync(path)) writeFileSync(path, '', { flag: 'a', mode: FILE_MODE });
    const lock = resources.use(new DatabaseSync(path, { timeout: 0 }));
    const take = () => {
      try {
        // Without the pragma, SQLite would leave a rollback journal. Like BEGIN, the pragma fails on a locked file.
        lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
      } catch (error) {
        if (!mayShare || !isBusy(error)) throw error;
        // This read fails while the transaction of the holder is exclusive.
        lock.exec('SELECT 1 FROM sqlite_schema');
      }
    };
    await retryWhileBusy(take, mayShare ? BUSY_TIMEOUT_MS : LOCK_TIMEOUT_MS);
    if (!lock.isTransaction) return undefined;
    resources.move();
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
