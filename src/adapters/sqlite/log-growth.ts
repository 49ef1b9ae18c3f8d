import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { StorageLog } from '../../application/ports/storage-log.ts';

/** From here on a log is large, in bytes. SQLite itself begins to empty it at 4 MiB. */
const LARGE_LOG_BYTES = 64 * 1024 * 1024;

/** How often it is tried to empty a large log, in milliseconds. */
const TRIAL_MS = 5_000;

/** SQLite's own threshold, in pages: https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint */
const AUTOMATIC_PAGES = 1_000;

const MIB = 1024 * 1024;

/**
 * A write-ahead log that cannot be emptied, because another program keeps reading, grows without bound. An operator is
 * told, and when that program is gone a thread empties the log. That took 2.4 s for 512 MiB, in which the event loop must
 * run on: so the connection itself leaves the log alone while it is large.
 */
export class LogGrowth {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #log: StorageLog;
  #isLarge = false;
  #warnAtBytes = LARGE_LOG_BYTES;
  /** On the clock of `performance.now()`. */
  #triedAt = -Infinity;
  #trial: Promise<void> | undefined;

  constructor(db: DatabaseSync, file: string, log: StorageLog) {
    this.#db = db;
    this.#file = file;
    this.#log = log;
  }

  /** To be called after a commit. */
  note(bytes: number): void {
    // The usual way, and short.
    if (bytes < LARGE_LOG_BYTES && !this.#isLarge) return;
    if (bytes < LARGE_LOG_BYTES) {
      this.#becomes({ large: false });
      this.#warnAtBytes = LARGE_LOG_BYTES;
      this.#log.warn(`the log ${this.#file}-wal is small again: ${Math.round(bytes / MIB)} MiB`);
      return;
    }
    if (!this.#isLarge) this.#becomes({ large: true });
    if (bytes >= this.#warnAtBytes) {
      this.#log.warn(
        `the log ${this.#file}-wal has ${Math.round(bytes / MIB)} MiB and grows: another program has the file open and ` +
          'keeps reading; end that',
      );
      while (this.#warnAtBytes <= bytes) this.#warnAtBytes *= 2;
    }
    if (this.#trial !== undefined || performance.now() - this.#triedAt < TRIAL_MS) return;
    this.#triedAt = performance.now();
    this.#trial = this.#empty().finally(() => (this.#trial = undefined));
  }

  async close(): Promise<void> {
    await this.#trial;
  }

  #becomes({ large }: { readonly large: boolean }): void {
    this.#isLarge = large;
    this.#db.exec(`PRAGMA wal_autocheckpoint = ${large ? 0 : AUTOMATIC_PAGES}`);
  }

  async #empty(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const worker = new Worker(new URL('./empty-log.ts', import.meta.url), { workerData: this.#file });
    worker.once('error', (error) => {
      this.#log.warn(`the log ${this.#file}-wal could not be emptied: ${String(error)}`);
    });
    worker.once('exit', () => resolve());
    await promise;
  }
}
