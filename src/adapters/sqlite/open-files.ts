import { type BigIntStats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
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

/**
 * For how long the times of a directory may not tell one change from the next, in milliseconds: 2 seconds is the
 * coarsest of any file system (FAT).
 */
const SAME_TIME_MS = 2_000;

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
 * After every commit, before anybody hears of it, the directory is looked at: its times change with every name in
 * it. When they have, and at least once in {@link LOOK_MS} of writing, so is every file. (To look at the log itself after
 * every commit is dear: since Linux 6.13 the next write of a file whose times were asked for has to change them, too.)
 * While something is missing nothing is written; when it is back, so is the service.
 *
 * What is overwritten in place keeps its identity and is not noticed.
 */
export class OpenFiles {
  readonly #db: DatabaseSync;
  readonly #log: StorageLog;
  readonly #file: string;
  readonly #wal: Part;
  readonly #parts: readonly Part[];
  readonly #growth: LogGrowth;
  #problem: string | undefined;
  readonly #directory: string;
  #directoryStats: BigIntStats | undefined;
  #isDirectoryOld = false;
  /** On the clock of `performance.now()`, as the next. */
  #changedAt = performance.now();
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
    this.#directory = dirname(file);
    this.#directoryStats = statOf(this.#directory);
    this.#wal = partOf(`${file}-wal`, 'put it back, or stop the service with SIGTERM and start it again');
    const parts = [
      partOf(
        file,
        `put it back under its name; reads go on; on Linux it can be copied from /proc/${process.pid}/fd until this process ` +
          `ends; leave ${file}-wal where it is`,
      ),
      this.#wal,
      partOf(`${file}-shm`, 'put it back, or stop every program that has the file open'),
    ];
    if (holdsLock) {
      const advice = 'another service may have the file now; put it back, or stop both and start one';
      parts.push(partOf(lockOf(file), advice));
    }
    this.#parts = parts;
    this.#growth = new LogGrowth(db, file, log);
  }

  readonly guard: Guard = (write) => {
    if (this.#problem !== undefined || performance.now() - this.#lookedAt >= LOOK_MS) this.#lookAround();
    const result = write();
    if (this.#hasDirectoryChanged()) this.#lookAtAll();
    return result;
  };

  /** Waits for what goes on beside the connection. */
  async close(): Promise<void> {
    await this.#growth.close();
  }

  #lookAround(): void {
    this.#lookAtAll();
    this.#growth.note(statSync(this.#wal.path).size);
    markLog(this.#db, this.#file);
    this.#lookedAt = performance.now();
  }

  /** Also says yes where it cannot be told. */
  #hasDirectoryChanged(): boolean {
    const before = this.#directoryStats;
    const now = statOf(this.#directory);
    const isSame =
      now !== undefined &&
      before !== undefined &&
      now.mtimeNs === before.mtimeNs &&
      now.ctimeNs === before.ctimeNs &&
      now.ino === before.ino &&
      now.dev === before.dev;
    if (isSame && this.#isDirectoryOld) return false;
    if (!isSame) {
      this.#directoryStats = now;
      this.#changedAt = performance.now();
    }
    this.#isDirectoryOld = performance.now() - this.#changedAt >= SAME_TIME_MS;
    return true;
  }

  /** @throws {StorageUnavailable} */
  #lookAtAll(): void {
    const gone = this.#parts.filter((part) => !isThere(part));
    const problem = gone.length === 0 ? undefined : this.#describe(gone);
    if (problem !== this.#problem) {
      this.#problem = problem;
      this.#log.warn(problem ?? `${this.#file} and what belongs to it are in place again: writing goes on`);
      // Saved before anything else can go wrong. Not where other programs may have made themselves another index.
      if (gone.length === 1 && gone[0] === this.#wal) this.#saveLog();
    }
    if (problem !== undefined) throw new StorageUnavailable(problem);
  }

  #describe(gone: readonly Part[]): string {
    const each = gone.map(({ path, advice }) => `${path} was removed, renamed or replaced: ${advice}`);
    return `nothing is written until this is mended: ${each.join('; ')}`;
  }

  /**
   * The removed log is still open, and what it holds can be brought into the file, which is where it belongs. Never
   * throws: the write that was done before must not be taken for one that may be tried again.
   */
  #saveLog(): void {
    let what = 'could not be';
    try {
      const [row] = this.#db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
      if (row?.['busy'] === 0n) what = 'is';
    } catch (error) {
      what += ` (${String(error)})`;
    }
    this.#log.warn(`what the removed log ${this.#wal.path} held ${what} saved in ${this.#file}`);
  }
}

function partOf(path: string, advice: string): Part {
  const stats = statOf(path);
  if (stats === undefined) throw new StorageUnavailable(`${path} was removed while it was opened`);
  return { path, device: stats.dev, inode: stats.ino, advice };
}

function isThere({ path, device, inode }: Part): boolean {
  const stats = statOf(path);
  return stats !== undefined && stats.ino === inode && stats.dev === device;
}

function statOf(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}
