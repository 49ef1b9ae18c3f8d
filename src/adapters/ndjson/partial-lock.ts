import { stat, unlink } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { PetFileError } from './pet-file-error.ts';

/** https://www.sqlite.org/rescode.html#busy */
const BUSY = 5;

/**
 * Holds a partial file for one process. The lock is a SQLite transaction on an empty file beside it, because Node has
 * no `flock`: the operating system ends it with the process, `kill -9` included. A lock file that is left behind locks
 * nothing.
 */
export class PartialLock {
  readonly #path: string;
  readonly #lock: DatabaseSync;

  private constructor(path: string, lock: DatabaseSync) {
    this.#path = path;
    this.#lock = lock;
  }

  /** @throws {PetFileError} when another process holds it */
  static async take(partial: string): Promise<PartialLock> {
    const path = `${partial}.lock`;
    for (;;) {
      const before = await inodeOf(path);
      const lock = locked(path, partial);
      // The last holder may have removed the file before we locked it. Others would then lock another file.
      if (before !== undefined && before === (await inodeOf(path))) return new PartialLock(path, lock);
      lock.close();
    }
  }

  /** Removes the lock file while it is still locked: afterwards it may be the lock of another process. */
  async release(): Promise<void> {
    await unlink(this.#path).catch(absent);
    this.#lock.close();
  }
}

function locked(path: string, partial: string): DatabaseSync {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(path, { timeout: 0 });
    // Else it would make a journal, and leave it behind.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
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
  return (await stat(path, { bigint: true }).catch(absent))?.ino;
}

export function absent(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}
