import { existsSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { FILE_MODE } from '../files/durable-files.ts';
import { BUSY_TIMEOUT_MS, isBusy, retryWhileBusy, setupError } from './errors.ts';

/** How long to wait for the lock. A command that writes may hold it for a moment. */
const LOCK_TIMEOUT_MS = 500;

/**
 * Reserves a SQLite file for one service, or for one command that writes. The lock is an open transaction on an empty
 * file beside it. The operating system releases it when the process ends, even after `kill -9`. A leftover lock file
 * locks nothing. The service never deletes it, because another process may have locked it in the meantime.
 *
 * At first the transaction is exclusive: its holder has yet to recover the file. When that is done, the holder begins one
 * that lets others read: `ROLLBACK; BEGIN IMMEDIATE`.
 *
 * If an operator deletes the lock file, a second service is still refused while the first has something in its log: see
 * `recoverLog`. The first service notices and stops writing: see `guardFiles`.
 *
 * The lock depends on the name of the file. `connect` refuses a file with a second name (a hard link). A file that is
 * mounted at two paths goes unnoticed.
 *
 * @param file the result of `fileOf`, so that every path to the file leads to the same lock
 * @param mayShare whether the caller may work beside a holder that has recovered the file, and waits longer until it has
 * @returns the connection whose end releases the lock; `undefined` beside such a holder
 * @throws {StorageSetupError} when another process holds the lock, or the lock file cannot be used
 */
export async function takeServiceLock(file: string, mayShare = false): Promise<DatabaseSync | undefined> {
  const path = serviceLockPath(file);
  using opened = new DisposableStack();
  try {
    if (!existsSync(path)) writeFileSync(path, '', { flag: 'a', mode: FILE_MODE });
    const lock = opened.use(new DatabaseSync(path, { timeout: 0 }));
    const take = () => {
      try {
        // Without the pragma, SQLite would leave a rollback journal on the disk. While the file is locked, it fails too.
        lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
      } catch (error) {
        if (!mayShare || !isBusy(error)) throw error;
        // Fails while the transaction of the holder is exclusive.
        lock.exec('SELECT 1 FROM sqlite_schema');
      }
    };
    await retryWhileBusy(take, mayShare ? BUSY_TIMEOUT_MS : LOCK_TIMEOUT_MS);
    if (!lock.isTransaction) return undefined;
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
