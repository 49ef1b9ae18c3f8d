import { once } from 'node:events';
import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageLog } from '../../application/ports/storage-health.ts';

const MIB = 1024 * 1024;

/** 4 MiB of pages of 4 KiB, SQLite's default: https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint */
const DUE_FRAMES = 1_000n;

/** A log of this size had a reader in the way of many checkpoints. */
const LARGE_WAL_BYTES = 64 * MIB;

/** The pause after a checkpoint that did not succeed. */
const RETRY_MS = 5_000;

/**
 * The program of a worker thread. A text and not a file, because a single executable has no file for it.
 *
 * Its connection stays open. A checkpoint that is not complete writes pages that it does not sync, and only on the same
 * descriptor a later sync is sure to be told of their loss. `timeout` is how long it waits for a read or a write to end.
 *
 * After a failed flush, the kernel may drop pages of the log that it could not write, and SQLite would copy what is left
 * in their place over good pages. So the log is read and its checksums are verified first:
 * https://www.sqlite.org/fileformat.html#the_write_ahead_log
 */
const CHECKPOINT = `
  const fs = require('node:fs');
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData: file } = require('node:worker_threads');
  let db;

  function isLogIntact(frames) {
    const log = fs.openSync(file + '-wal');
    const read = (length) => {
      const bytes = Buffer.alloc(length);
      fs.readSync(log, bytes);
      return bytes;
    };
    try {
      const header = read(32);
      const word = header[3] % 2 === 1 ? 'readUInt32BE' : 'readUInt32LE';
      const sums = new Uint32Array(2);
      const isSummed = (bytes, stored) => {
        for (let at = 0; at < bytes.length; at += 8) {
          sums[0] += bytes[word](at) + sums[1];
          sums[1] += bytes[word](at + 4) + sums[0];
        }
        return stored === undefined || (stored.readUInt32BE(0) === sums[0] && stored.readUInt32BE(4) === sums[1]);
      };
      if (!isSummed(header.subarray(0, 24), header.subarray(24))) return false;
      for (let frame = 0; frame < frames; frame++) {
        const head = read(24);
        isSummed(head.subarray(0, 8));
        if (!isSummed(read(header.readUInt32BE(8)), head.subarray(16))) return false;
      }
      return true;
    } finally {
      fs.closeSync(log);
    }
  }

  function checkpoint({ mode, verify }) {
    db ??= new DatabaseSync(file, { timeout: 100 });
    db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON');
    if (verify && !isLogIntact(db.prepare('PRAGMA wal_checkpoint(NOOP)').get().log)) {
      return 'its end is lost; end the service with SIGKILL and start it again';
    }
    return db.prepare('PRAGMA wal_checkpoint(' + mode + ')').get().busy === 0 ? undefined : 'busy';
  }

  parentPort.on('message', (job) => {
    if (job === 'close') {
      db?.close();
      return parentPort.close();
    }
    try {
      parentPort.postMessage(checkpoint(job));
    } catch (error) {
      parentPort.postMessage(String(error));
    }
  });
`;

/** Another connection was reading or writing. */
const BUSY = 'busy';

/**
 * Makes the checkpoints of a service in a thread, because a checkpoint waits for the disk: one of 4 MiB takes 3 s on a
 * disk of 100 writes a second. The thread begins when the log first needs one.
 *
 * Call it while no commit is made. Beside commits, a checkpoint counts pages as done that no sync of the database covers.
 * After a checkpoint the next commit begins the log again, in the same file: on an emptied file, each flush would have to
 * write the size of the file too. It is emptied only when it is large.
 *
 * While another program keeps a read transaction open, no checkpoint succeeds and the log grows without bound. The
 * operator is warned.
 */
export class Checkpointer {
  readonly #file: string;
  readonly #log: StorageLog;
  /** Tells how many frames the log has, and does nothing. */
  readonly #noop: StatementSync;
  #worker: Worker | undefined;
  /** More than {@link LARGE_WAL_BYTES} while the WAL is large. */
  #warnAtBytes = LARGE_WAL_BYTES;
  /** On the clock of `performance.now()`. */
  #notBeforeMs = -Infinity;

  constructor(db: DatabaseSync, file: string, log: StorageLog) {
    this.#file = file;
    this.#log = log;
    this.#noop = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  }

  /**
   * Checkpoints a log that has grown. Call it outside of a transaction.
   *
   * @throws the error of SQLite
   */
  async runIfDue(): Promise<void> {
    const { log } = this.#noop.get() as { log: bigint };
    if (log < DUE_FRAMES || performance.now() < this.#notBeforeMs) return;
    const walBytes = this.#walBytes();
    const problem = await this.#ask({ mode: walBytes < LARGE_WAL_BYTES ? 'RESTART' : 'TRUNCATE' });
    if (problem === undefined) {
      if (this.#warnAtBytes > LARGE_WAL_BYTES) this.#warn(`is small again: ${toMib(this.#walBytes())} MiB`);
      this.#warnAtBytes = LARGE_WAL_BYTES;
      return;
    }
    this.#notBeforeMs = performance.now() + RETRY_MS;
    if (problem !== BUSY) this.#warn(`could not be checkpointed: ${problem}`);
    else if (walBytes >= this.#warnAtBytes) {
      const reason = 'because another program keeps reading the file; stop that program';
      this.#warn(`has grown to ${toMib(walBytes)} MiB, ${reason}`);
      while (this.#warnAtBytes <= walBytes) this.#warnAtBytes *= 2;
    }
  }

  /**
   * Checkpoints the log after a failed flush. Resolves when the whole log is in the database and on the disk.
   *
   * @throws {StorageUnavailable}
   */
  async recover(): Promise<void> {
    const problem = await this.#ask({ mode: 'RESTART', verify: true });
    if (problem === undefined) return;
    throw new StorageUnavailable(
      `the write-ahead log ${this.#file}-wal could not be checkpointed: ${problem}`,
    );
  }

  /** Call it after the connection of the service has been closed. Then the thread empties the log and removes it. */
  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    worker.postMessage('close', []);
    await once(worker, 'exit');
  }

  /** @returns what has prevented the checkpoint */
  async #ask(job: { mode: 'RESTART' | 'TRUNCATE'; verify?: true }): Promise<string | undefined> {
    this.#worker ??= new Worker(CHECKPOINT, { eval: true, workerData: this.#file });
    const worker = this.#worker;
    worker.ref();
    worker.postMessage(job, []);
    try {
      const [problem] = (await once(worker, 'message')) as [string | undefined];
      worker.unref();
      return problem;
    } catch (error) {
      this.#worker = undefined;
      return String(error);
    }
  }

  #warn(problem: string): void {
    this.#log.warn(`the write-ahead log ${this.#file}-wal ${problem}`);
  }

  #walBytes(): number {
    return statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }
}

function toMib(bytes: number): number {
  return Math.round(bytes / MIB);
}
