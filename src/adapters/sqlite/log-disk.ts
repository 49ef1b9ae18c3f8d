import { once } from 'node:events';
import { closeSync, fdatasync, fstatSync, openSync, statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageLog } from '../../application/ports/storage-health.ts';
import { BUSY, CHECKPOINT_PROGRAM, type Checkpoint } from './checkpoint-program.ts';
import { fileOf } from './connection.ts';

const MIB = 1024 * 1024;

/** 4 MiB of pages of 4 KiB, SQLite's default: https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint */
const DUE_FRAMES = 1_000n;

/** A log of this size had a reader in the way of many checkpoints. */
const LARGE_LOG_MIB = 64;

/** The pause after a checkpoint that failed, and after one that a reader has cut short. Writes wait during each. */
const RETRY_MS = 5_000;
const BUSY_RETRY_MS = 1_000;

const flush = promisify(fdatasync);

/**
 * Gets the write-ahead log of a connection on the disk, so that the event loop does not wait: flushes run in the thread
 * pool of Node, checkpoints in a thread that begins when the log first needs one.
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
 * While another program keeps a read transaction open, no checkpoint succeeds and the log grows without bound. The
 * operator is warned.
 */
export class LogDisk {
  readonly #file: string;
  readonly #ino: bigint;
  readonly #log: StorageLog;
  readonly #idle: number[] = [];
  /** Tells how many frames the log has, and does nothing. */
  readonly #noop: StatementSync;
  #worker: Worker | undefined;
  /** More than {@link LARGE_LOG_MIB} while the log is large. */
  #warnAtMib = LARGE_LOG_MIB;
  /** When the next checkpoint may begin, on the clock of `performance.now()`. */
  #checkpointAtMs = -Infinity;

  /**
   * @param ino the inode of the log
   * @throws {StorageUnavailable} when the log was replaced
   * @throws the error of `node:fs`
   */
  constructor(db: DatabaseSync, ino: bigint, log: StorageLog) {
    this.#file = fileOf(db);
    this.#ino = ino;
    this.#log = log;
    this.#noop = db.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#open();
  }

  /**
   * Resolves when everything that was committed before the call is on the disk. Two calls may be under way.
   *
   * @throws the error of `node:fs`, after which what the log holds may be lost
   */
  async flush(): Promise<void> {
    const descriptor = this.#idle.pop()!;
    try {
      await flush(descriptor);
    } finally {
      this.#idle.push(descriptor);
    }
  }

  /**
   * Checkpoints a log that has grown. Call it when no transaction is open, and commit nothing before it has resolved.
   *
   * @throws the error of SQLite
   */
  async checkpointIfDue(): Promise<void> {
    const { log } = this.#noop.get() as { log: bigint };
    if (log < DUE_FRAMES || performance.now() < this.#checkpointAtMs) return;
    const mib = this.#logMib();
    const problem = await this.#checkpoint({ mode: mib < LARGE_LOG_MIB ? 'RESTART' : 'TRUNCATE' });
    const wal = `${this.#file}-wal`;
    if (problem === undefined) {
      if (this.#warnAtMib > LARGE_LOG_MIB)
        this.#log.warn(`the write-ahead log ${wal} is small again: ${this.#logMib()} MiB`);
      this.#warnAtMib = LARGE_LOG_MIB;
      return;
    }
    this.#checkpointAtMs = performance.now() + (problem === BUSY ? BUSY_RETRY_MS : RETRY_MS);
    if (problem !== BUSY) this.#log.warn(`the write-ahead log ${wal} could not be checkpointed: ${problem}`);
    else if (mib >= this.#warnAtMib) {
      this.#log.warn(`the write-ahead log ${wal} has grown to ${mib} MiB, because ${problem}; stop it`);
      while (this.#warnAtMib <= mib) this.#warnAtMib *= 2;
    }
  }

  /**
   * Call it after a failed flush, when no flush is under way. Resolves when everything that was committed is in the
   * database and on the disk.
   *
   * @throws {StorageUnavailable} when it is not
   * @throws the error of `node:fs`
   */
  async recover(): Promise<void> {
    const problem = await this.#checkpoint({ mode: 'RESTART', verify: true });
    if (problem !== undefined) throw new StorageUnavailable(`the log cannot be checkpointed: ${problem}`);
    this.#closeDescriptors();
    this.#open();
  }

  /** Call it after the connection has been closed: then the thread, the last to close the file, empties its log. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker !== undefined) {
      worker.postMessage('close', []);
      await once(worker, 'exit');
    }
    this.#closeDescriptors();
  }

  /** @returns what has prevented the checkpoint */
  async #checkpoint(checkpoint: Checkpoint): Promise<string | undefined> {
    this.#worker ??= new Worker(CHECKPOINT_PROGRAM, { eval: true, workerData: this.#file });
    this.#worker.postMessage(checkpoint, []);
    try {
      return ((await once(this.#worker, 'message')) as [string | undefined])[0];
    } catch (error) {
      this.#worker = undefined;
      return String(error);
    }
  }

  #open(): void {
    while (this.#idle.length < 2) {
      const descriptor = openSync(`${this.#file}-wal`, 'r+');
      this.#idle.push(descriptor);
      if (fstatSync(descriptor, { bigint: true }).ino === this.#ino) continue;
      this.#closeDescriptors();
      throw new StorageUnavailable(`${this.#file}-wal was replaced`);
    }
  }

  #closeDescriptors(): void {
    for (const descriptor of this.#idle.splice(0)) closeSync(descriptor);
  }

  #logMib(): number {
    return Math.round((statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0) / MIB);
  }
}
