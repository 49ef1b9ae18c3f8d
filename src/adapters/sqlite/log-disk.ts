import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { StorageHost, StorageMeter } from '../../application/ports/storage-health.ts';
import { fileOf, sizeBytesOf } from './connection.ts';
import { BUSY, endIfSyncFailed, endUnclosed, SYNC_FAILED } from './errors.ts';

/**
 * A checkpoint is due at 4 MiB in pages of 4 KiB, SQLite's default:
 * https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint
 */
const DUE_FRAMES = 1_000n;

/** A log gets this large when readers cut short many checkpoints. */
const LARGE_LOG_MIB = 16;

/**
 * The pauses after a failed checkpoint, and after a checkpoint that a reader cut short. Writes wait during every
 * attempt.
 */
const RETRY_MS = 5_000;
const BUSY_RETRY_MS = 1_000;

/** `code` is 0, or a result code of SQLite with SQLite's `text` for it. */
type CheckpointResult = { readonly code: number; readonly text?: string | undefined };

/**
 * The checkpoint thread takes a mode, and answers with a {@link CheckpointResult}. The program is a text, because a
 * single executable has no file for it. The connection stays open: see docs/explanation/group-commit.md#checkpoints.
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
 * Flushes and checkpoints the write-ahead log (WAL) outside the event loop: see
 * docs/explanation/group-commit.md#checkpoints.
 *
 * A failed sync, or the end of the worker, ends the process in the callback that reports this:
 * docs/explanation/group-commit.md#when-a-sync-fails.
 */
export class LogDisk {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #wal: string;
  readonly #host: StorageHost;
  readonly #logBytes = () => sizeBytesOf(this.#wal);
  readonly #logMib = () => Math.round(this.#logBytes() / 2 ** 20);
  readonly #idleDescriptors: number[];
  /** Returns the number of frames in the log, and changes nothing. */
  readonly #countFrames: StatementSync;
  #worker: Worker | undefined;
  /** Greater than {@link LARGE_LOG_MIB} after a warning. */
  #warnAtMib = LARGE_LOG_MIB;
  /** The earliest time of the next checkpoint, on the clock of `performance.now()`. */
  #checkpointAtMs = -Infinity;
  /** The end of the last complete checkpoint, or of the recovery. */
  #checkpointedAt = new Date();

  constructor(db: DatabaseSync, host: StorageHost, meter?: StorageMeter) {
    this.#db = db;
    this.#file = fileOf(db);
    this.#wal = `${this.#file}-wal`;
    this.#host = host;
    // From now on, only the first commit after a checkpoint waits for the disk.
    db.exec('PRAGMA synchronous = NORMAL');
    this.#countFrames = db.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#idleDescriptors = [1, 2].map(() => openSync(this.#wal, 'r+'));
    meter?.log(this.#logBytes, () => this.#checkpointedAt);
  }

  /**
   * Resolves when everything that was committed before the call is on the disk. Never rejects. At most two calls may be
   * under way.
   */
  async flush(): Promise<void> {
    const descriptor = this.#idleDescriptors.pop();
    if (descriptor === undefined) endUnclosed(`a bug: a third flush of ${this.#wal}`, this.#host);
    return new Promise((resolve) => {
      fdatasync(descriptor, (error) => {
        if (error !== null) endUnclosed(`a flush of ${this.#wal} has failed: ${error.message}`, this.#host);
        this.#idleDescriptors.push(descriptor);
        resolve();
      });
    });
  }

  /**
   * Never rejects. Call it when no transaction is open and at most one flush is under way, and commit nothing until it
   * resolves.
   */
  async checkpointIfDue(): Promise<void> {
    const { log } = this.#countFrames.get() as { log: bigint };
    if (log < DUE_FRAMES || performance.now() < this.#checkpointAtMs) return;
    // After a power failure, the log must still have every page that the checkpoint copies.
    await this.flush();
    const mib = this.#logMib();
    const { code, text } = await this.#checkpoint(mib < LARGE_LOG_MIB ? 'RESTART' : 'TRUNCATE');
    const wal = `the write-ahead log ${this.#wal}`;
    if (code === 0) {
      if (this.#warnAtMib > LARGE_LOG_MIB) this.#host.warn(`${wal} is small again: ${this.#logMib()} MiB`);
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
   * Call it before the connection is closed, when every flush has ended.
   *
   * @param mayWrite whether to empty the log here. SQLite's own close would hide a failed sync
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
    for (const descriptor of this.#idleDescriptors.splice(0)) closeSync(descriptor);
  }

  async #checkpoint(mode: 'RESTART' | 'TRUNCATE'): Promise<CheckpointResult> {
    const worker = (this.#worker ??= this.#startWorker());
    return new Promise((resolve) => {
      worker.once('message', ({ code, text }: CheckpointResult) => {
        if (code === SYNC_FAILED) endUnclosed(`a checkpoint of ${this.#wal} has failed: ${text}`, this.#host);
        if (code === 0) this.#checkpointedAt = new Date();
        resolve({ code, text });
      });
      worker.postMessage(mode, []);
    });
  }

  #startWorker(): Worker {
    const worker = new Worker(CHECKPOINT_PROGRAM, { eval: true, workerData: this.#file });
    const endProcess = (reason: unknown) => {
      if (this.#worker === undefined) return;
      endUnclosed(`the thread that checkpoints ${this.#wal} has ended: ${String(reason)}`, this.#host);
    };
    return worker.on('error', endProcess).on('exit', endProcess);
  }
}
