import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StorageUnavailable } from '../../application/errors.ts';
import type { StorageLog } from '../../application/ports/storage-log.ts';
import { fileOf } from './connection.ts';
import { lockOf } from './lock.ts';
import { LogGrowth } from './log-growth.ts';
import { markLog } from './log-mark.ts';

/** Does a write, and returns only when what it has written can be found again under the name of the file. */
export type Guard = <T>(write: () => T) => T;

/** Writes to what can be found again in any case, or not at all. */
export const unguarded: Guard = (write) => write();

export type WriteOptions = {
  /** How long a write waits for another connection that holds the file, in milliseconds. */
  readonly deadlineMs?: number;
  readonly guard?: Guard;
};

/** How long a look at all files is good for, in milliseconds. */
const LOOK_MS = 1_000;

type Part = {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
  /** What an operator can do when it is gone. */
  readonly advice: string;
};

/**
 * The file of a connection and what SQLite has beside it, all of which somebody may remove, rename or replace meanwhile.
 * The connection would go on with files that the next start does not find. Reads go on all the same: they are right.
 *
 * After every commit, before anybody hears of it, the file and its log are looked at (3 us), and everything at least
 * once in {@link LOOK_MS} of writing. While something is missing nothing is written; when it is back, so is the service.
 * What is overwritten in place keeps its identity and is not noticed.
 */
export class OpenFiles {
  readonly #db: DatabaseSync;
  readonly #log: StorageLog;
  readonly #file: string;
  readonly #main: Part;
  readonly #wal: Part;
  readonly #others: readonly Part[];
  readonly #growth: LogGrowth;
  #problem: string | undefined;
  /** On the clock of `performance.now()`. */
  #lookedAt = performance.now();

  /**
   * @param db has read something, so that its log is there
   * @param holdsLock whether this process is the service of the file
   * @throws {StorageUnavailable} when a part is missing already
   */
  constructor(db: DatabaseSync, log: StorageLog, { holdsLock }: { readonly holdsLock: boolean }) {
    const file = fileOf(db);
    this.#db = db;
    this.#log = log;
    this.#file = file;
    this.#main = partOf(
      file,
      `put it back under its name; reads go on; on Linux it can be copied from /proc/${process.pid}/fd until this process ` +
        `ends; leave ${file}-wal where it is`,
    );
    this.#wal = partOf(`${file}-wal`, 'put it back, or stop the service with SIGTERM and start it again');
    const others = [partOf(`${file}-shm`, 'put it back, or stop every program that has the file open')];
    if (holdsLock) {
      const advice = 'another service may have the file now; put it back, or stop both and start one';
      others.push(partOf(lockOf(file), advice));
    }
    this.#others = others;
    this.#growth = new LogGrowth(db, file, log);
  }

  readonly guard: Guard = (write) => {
    if (this.#problem !== undefined || performance.now() - this.#lookedAt >= LOOK_MS) this.#lookAtAll();
    const result = write();
    const wal = statOf(this.#wal);
    if (isThere(this.#main, statOf(this.#main)) && isThere(this.#wal, wal)) {
      this.#growth.note(Number(wal?.size));
    } else {
      this.#lookAtAll();
    }
    return result;
  };

  /** Waits for what goes on beside the connection. */
  async close(): Promise<void> {
    await this.#growth.close();
  }

  /** @throws {StorageUnavailable} */
  #lookAtAll(): void {
    const gone = [this.#main, this.#wal, ...this.#others].filter((part) => !isThere(part, statOf(part)));
    const problem = gone.length === 0 ? undefined : this.#describe(gone);
    if (problem !== this.#problem) {
      this.#problem = problem;
      this.#log.warn(problem ?? `${this.#file} and what belongs to it are in place again: writing goes on`);
      // Saved before anything else can go wrong. Not where other programs may have made themselves another index.
      if (gone.length === 1 && gone[0] === this.#wal) this.#saveLog();
    }
    if (problem !== undefined) throw new StorageUnavailable(problem);
    markLog(this.#db, this.#file);
    this.#lookedAt = performance.now();
  }

  #describe(gone: readonly Part[]): string {
    const each = gone.map(({ path, advice }) => `${path} was removed, renamed or replaced: ${advice}`);
    return `nothing is written until this is mended: ${each.join('; ')}`;
  }

  /** The removed log is still open, and what it holds can be brought into the file, which is where it belongs. */
  #saveLog(): void {
    const [row] = this.#db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
    const what = row?.['busy'] === 0n ? 'is' : 'could not be';
    this.#log.warn(`what the removed log ${this.#wal.path} held ${what} saved in ${this.#file}`);
  }
}

function partOf(path: string, advice: string): Part {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) throw new StorageUnavailable(`${path} was removed while it was opened`);
  return { path, device: stats.dev, inode: stats.ino, advice };
}

function statOf({ path }: Part) {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

function isThere({ device, inode }: Part, stats: ReturnType<typeof statOf>): boolean {
  return stats !== undefined && stats.ino === inode && stats.dev === device;
}
