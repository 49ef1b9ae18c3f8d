import { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/errors.ts';
import { whenFree } from './busy.ts';
import { isBusy } from './errors.ts';

/** How long to wait for the lock, in milliseconds: a command that makes the schema holds it for a moment. */
const LOCK_DEADLINE_MS = 500;

/**
 * Holds a SQLite file for one service. The lock is a transaction on an empty file beside it: the operating system
 * ends it with the process, `kill -9` included, so that a lock file that is left behind locks nothing. It is never
 * removed: whoever does could remove one that somebody else has just locked.
 *
 * @param file from `fileOf`, so that two paths to one file are one lock
 * @returns what to close to release it
 * @throws {StorageSetupError} when another service holds it
 */
export async function takeLock(file: string): Promise<DatabaseSync> {
  const lock = new DatabaseSync(`${file}.lock`, { timeout: 0 });
  try {
    // Else it would make a journal, and leave it behind.
    lock.exec('PRAGMA journal_mode = MEMORY');
    await whenFree(() => lock.exec('BEGIN EXCLUSIVE'), LOCK_DEADLINE_MS);
    return lock;
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new StorageSetupError(
      `the SQLite file ${file} is in use by another petstore service; stop that first`,
      {
        cause: error,
      },
    );
  }
}
