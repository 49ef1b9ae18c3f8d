import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { StorageHost, StorageMeter } from '../../application/ports/storage-health.ts';
import { fileOf, sizeBytesOf } from './connection.ts';
import { BUSY, endIfSyncFailed, endUnclosed, SYNC_FAILED } from './errors.ts';

/** 4 MiB of pages of 4 KiB, SQLite's default: https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint */
const DUE_FRAMES = 1_000n;

/** A log of this size had a reader in the way of many checkpoints. */
const LARGE_LOG_MIB = 16;

/** The pause after a checkpoint that failed, and after one that a reader has cut short. Writes wait during each. */
const RETRY_MS = 5_000;
const BUSY_RETRY_MS = 1_000;

/** How a checkpoint has ended: with 0, or with a result code of SQLite and SQLite's own words for that code. */
type Checkpointed = { readonly code: number; readonly text?: string | undefined };

/**
 * The program of the thread that makes checkpoints. It takes the mode of each, and answers with a {@link Checkpointed}.
 * It is a text, because a single executable has no file for it.
 *
 * Its connection stays open. A checkpoint that is not complete writes pages that it does not sync, and only on the same
 * descriptor a later sync is sure to be told of their loss. `timeout` is how long it waits for a read or a write to end.
 */
const CHECKPOINT_PROGRAM = `
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData: file } = require('node:worker_threads');
  let db;

  function checkpoint(mode) {
    try {
      db ??= new DatabaseSync(file, { timeout: 100 });
      db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON');
      return { code: db.prepare('PRAGMA wal_checkpoint(' + mode + ')').get().busy === 0 ? 0 : ${BUSY} };
    } catch (error) {
      // A bug ends the thread.
      if (error.errcode === undefined) throw error;
      return { code: error.errcode, text: error.errstr };
    }
  }

  parentPort.on('message', (mode) => parentPort.postMessage(checkpoint(mode)));
`;

/**
 * Gets the write-ahead log of a connection on the disk, so that the event loop does not wait: flushes run in the thread
 * pool of Node, checkpoints in a thread that begins when the log first needs one.
 *
 * A sync that fails, and the end of the thread, end the process in the callback that learns of it:
 * docs/reference/storages.md#when-a-sync-fails.
 *
 * Two flushes may be under way, each on a descriptor of its own: of two on one descriptor, only one is told of a lost
 * page. SQLite holds no lock on the log, so its descriptors may be closed. Closing one of the database or of the `-shm`
 * would release the locks of SQLite:
 * https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 *
 * No commit may be made beside a checkpoint: it would count pages as done that no sync of the database covers. After a
 * checkpoint the next commit begins the log again, in the same file: on an emptied file, each flush would have to write
 * the size of the file too. The log is emptied only when it is large.
 *
 * While another program keeps a read transaction open, no checkpoint is complete and the log grows without bound. The
 * operator is warned.
 */
export class LogDisk {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #wal: string;
  readonly #host: StorageHost;
  readonly #bytes = () => sizeBytesOf(this.#wal);
  readonly #mib = () => Math.round(this.#bytes() / 2 ** 20);
  readonly #idle: number[];
  /** Tells how many frames the log has, and does nothing. */
  readonly #noop: StatementSync;
  #worker: Worker | undefined;
  /** More than {@link LARGE_LOG_MIB} while the log is large. */
  #warnAtMib = LARGE_LOG_MIB;
  /** When the next checkpoint may begin, on the clock of `performance.now()`. */
  #checkpointAtMs = -Infinity;
  /** When the last complete checkpoint ended. The start has recovered the log. */
  #checkpointedAt = new Date();

  /** @throws the error of `node:fs` */
  constructor(db: DatabaseSync, host: StorageHost, meter?: StorageMeter) {
    this.#db = db;
    this.#file = fileOf(db);
    this.#wal = `${this.#file}-wal`;
    this.#host = host;
    // From now on no commit waits for the disk, but for the first one in the log.
    db.exec('PRAGMA synchronous = NORMAL');
    this.#noop = db.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#idle = [1, 2].map(() => openSync(this.#wal, 'r+'));
    meter?.log(this.#bytes, () => this.#checkpointedAt);
  }

  /**
   * Resolves when everything that was committed before the call is on the disk. Never rejects. Two calls may be under
   * way.
   */
  async flush(): Promise<void> {
    const descriptor = this.#idle.pop();
    if (descriptor === undefined) endUnclosed(`a bug: a third flush of ${this.#wal}`, this.#host);
    return new Promise((resolve) => {
      fdatasync(descriptor, (error) => {
        if (error !== null) endUnclosed(`a flush of ${this.#wal} has failed: ${error.message}`, this.#host);
        this.#idle.push(descriptor);
        resolve();
      });
    });
  }

  /**
   * Checkpoints a log that has grown. Call it when no transaction is open and at most one flush is under way, and commit
   * nothing before it has resolved. Never rejects.
   */
  async checkpointIfDue(): Promise<void> {
    const { log } = this.#noop.get() as { log: bigint };
    if (log < DUE_FRAMES || performance.now() < this.#checkpointAtMs) return;
    // The database must get nothing that the log could lose. The thread may open the log too late to be told of a loss.
    await this.flush();
    const mib = this.#mib();
    const { code, text } = await this.#checkpoint(mib < LARGE_LOG_MIB ? 'RESTART' : 'TRUNCATE');
    const wal = `the write-ahead log ${this.#wal}`;
    if (code === 0) {
      if (this.#warnAtMib > LARGE_LOG_MIB) this.#host.warn(`${wal} is small again: ${this.#mib()} MiB`);
      this.#warnAtMib = LARGE_LOG_MIB;
    } else if (code !== BUSY) this.#host.warn(`${wal} could not be checkpointed: ${text} (${code})`);
    else if (mib >= this.#warnAtMib) {
      this.#host.warn(
        `${wal} has grown to ${mib} MiB, because another program keeps reading the file; stop it`,
      );
      this.#warnAtMib = 2 * mib;
    }
    if (code !== 0) this.#checkpointAtMs = performance.now() + (code === BUSY ? BUSY_RETRY_MS : RETRY_MS);
  }

  /**
   * Call it before the connection is closed, when every flush has ended. By then nothing else needs the event loop.
   *
   * @param mayWrite whether to empty the log as far as possible. SQLite itself would tell nobody of a sync that fails
   *   while it closes a connection
   */
  async close(mayWrite: boolean): Promise<void> {
    try {
      if (mayWrite) this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch (error) {
      endIfSyncFailed(error, this.#host);
    }
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
    for (const descriptor of this.#idle.splice(0)) closeSync(descriptor);
  }

  async #checkpoint(mode: 'RESTART' | 'TRUNCATE'): Promise<Checkpointed> {
    const worker = (this.#worker ??= this.#begin());
    return new Promise((resolve) => {
      worker.once('message', ({ code, text }: Checkpointed) => {
        if (code === SYNC_FAILED) endUnclosed(`a checkpoint of ${this.#wal} has failed: ${text}`, this.#host);
        if (code === 0) this.#checkpointedAt = new Date();
        resolve({ code, text });
      });
      worker.postMessage(mode, []);
    });
  }

  #begin(): Worker {
    const worker = new Worker(CHECKPOINT_PROGRAM, { eval: true, workerData: this.#file });
    const died = (reason: unknown) => {
      if (this.#worker === undefined) return;
      endUnclosed(`the thread that checkpoints ${this.#wal} has ended: ${String(reason)}`, this.#host);
    };
    return worker.on('error', died).on('exit', died);
  }
}
