import { stat, unlink } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { PetFileError } from './pet-file-error.ts';

/** https://www.sqlite.org/rescode.html#busy */
const BUSY = 5;

/**
 * Locks a partial file for one process. Node has no `flock`, so the lock is a SQLite transaction on an empty file
 * beside it. The operating system releases it when the process ends, even by `kill -9`. A stale file locks nothing.
 */
export class PartialLock {
  readonly #path: string;
  readonly #database: DatabaseSync;

  private constructor(path: string, database: DatabaseSync) {
    this.#path = path;
    this.#database = database;
  }

  /** @throws {PetFileError} when another process holds the lock, or the lock file cannot be used */
  static async take(partial: string): Promise<PartialLock> {
    const path = `${partial}.lock`;
    for (;;) {
      const before = await inodeOf(path);
      const database = openLocked(path, partial);
      // The last holder may have removed the file before we locked it. Then others would lock a different file.
      if (before !== undefined && before === (await inodeOf(path))) return new PartialLock(path, database);
      database.close();
    }
  }

  /** Removes the lock file before unlocking it: later, the file may belong to another process. */
  async release(): Promise<void> {
    await unlink(this.#path).catch(undefinedIfAbsent);
    this.#database.close();
  }
}

function openLocked(path: string, partial: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    // Otherwise SQLite would leave a rollback journal on the disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (!(error instanceof Error && 'errcode' in error)) throw error;
    throw new PetFileError(
      partial,
      undefined,
      error.errcode === BUSY
        ? 'is being written by another export'
        : `cannot be locked: ${path}: ${error.message}`,
    );
  }
}

async function inodeOf(path: string): Promise<bigint | undefined> {
  return (await stat(path, { bigint: true }).catch(undefinedIfAbsent))?.ino;
}

/** Handles the rejection of a file operation: `undefined` when the file does not exist. */
export function undefinedIfAbsent(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}
