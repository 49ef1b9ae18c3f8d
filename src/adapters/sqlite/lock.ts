import { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/errors.ts';
import { isBusy } from './errors.ts';

/**
 * Holds a SQLite file for one service. The lock is a transaction on an empty file beside it: the operating system
 * ends it with the process, `kill -9` included, so that a lock file that is left behind locks nothing. It is never
 * removed: whoever does could remove one that somebody else has just locked.
 *
 * @param file from `fileOf`, so that two paths to one file are one lock
 * @returns what to close to release it
 * @throws {StorageSetupError} when another service holds it
 */
export function takeLock(file: string): DatabaseSync {
  const lock = new DatabaseSync(`${file}.lock`, { timeout: 0 });
  try {
    // Else it would make a journal, and leave it behind.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
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
