import { closeSync, fdatasync, fstatSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { Checkpointer } from './checkpointer.ts';

const flush = promisify(fdatasync);

/**
 * Gets the log of a connection with `synchronous = NORMAL` on the disk, in the thread pool of Node. Two flushes may be
 * under way, each on a descriptor of its own: of two on one descriptor, only one is told of a lost page.
 *
 * SQLite holds no lock on the log, so its descriptors may be closed. Closing one of the database or of the `-shm` would
 * release the locks of SQLite:
 * https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 */
export class LogDisk {
  readonly #path: string;
  readonly #ino: bigint;
  readonly #checkpointer: Checkpointer;
  readonly #idle: number[] = [];

  /**
   * @param path of the log
   * @param ino its inode
   * @throws {StorageUnavailable} when the path leads to another file
   * @throws the error of `node:fs`
   */
  constructor(path: string, ino: bigint, checkpointer: Checkpointer) {
    this.#path = path;
    this.#ino = ino;
    this.#checkpointer = checkpointer;
    this.#open();
  }

  /**
   * Resolves when everything that was committed before the call is on the disk.
   *
   * @throws the error of `node:fs`, after which what the log holds may be lost
   */
  async flush(): Promise<void> {
    const descriptor = this.#idle.pop();
    if (descriptor === undefined) throw new StorageUnavailable('two flushes of the log are under way');
    try {
      await flush(descriptor);
    } finally {
      this.#idle.push(descriptor);
    }
  }

  /**
   * Call it when no transaction is open, and commit nothing before it has resolved.
   *
   * @throws the error of SQLite
   */
  async checkpointIfDue(): Promise<void> {
    await this.#checkpointer.runIfDue();
  }

  /**
   * Call it after a failed flush, when no flush is under way. Resolves when everything that was committed is on the disk.
   *
   * @throws {StorageUnavailable} when it is not
   * @throws the error of `node:fs`
   */
  async recover(): Promise<void> {
    await this.#checkpointer.recover();
    this.#closeDescriptors();
    this.#open();
  }

  /** Call it after the connection has been closed. */
  async close(): Promise<void> {
    await this.#checkpointer.close();
    this.#closeDescriptors();
  }

  #open(): void {
    while (this.#idle.length < 2) {
      const descriptor = openSync(this.#path, 'r+');
      this.#idle.push(descriptor);
      if (fstatSync(descriptor, { bigint: true }).ino !== this.#ino) {
        throw new StorageUnavailable(`${this.#path} was replaced`);
      }
    }
  }

  #closeDescriptors(): void {
    for (const descriptor of this.#idle.splice(0)) closeSync(descriptor);
  }
}
