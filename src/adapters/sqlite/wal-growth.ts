import { once } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { StorageLog } from '../../application/ports/storage-health.ts';

const MIB = 1024 * 1024;

/** SQLite itself starts to checkpoint at 4 MiB, so a WAL of this size has a reader in its way. */
const LARGE_WAL_BYTES = 64 * MIB;

/** The time between two attempts to checkpoint a large WAL. */
const CHECKPOINT_INTERVAL_MS = 5_000;

/** SQLite's default: https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint */
const AUTOCHECKPOINT_PAGES = 1_000;

/**
 * The program of a worker thread. It checkpoints a large WAL, as far as readers allow. PASSIVE does the long part and
 * blocks neither readers nor writers: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
 *
 * A text and not a file, because a single executable has no file for a worker thread.
 */
const CHECKPOINT = `
  const { DatabaseSync } = require('node:sqlite');
  const { workerData } = require('node:worker_threads');
  const db = new DatabaseSync(workerData, { timeout: 0 });
  // Neither pragma throws when another connection is in the way: it does what it can.
  db.prepare('PRAGMA wal_checkpoint(PASSIVE)').all();
  db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
  db.close();
`;

/**
 * Watches the size of the write-ahead log (WAL). It grows without bound while another program keeps a read transaction
 * open. This class warns the operator, and checkpoints the WAL in a worker thread once the reader is gone. A checkpoint
 * of 512 MiB took 2.4 s, so the connection itself, on the event loop, does none while the WAL is large.
 */
export class WalGrowth {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #log: StorageLog;
  /** More than {@link LARGE_WAL_BYTES} while the WAL is large. */
  #warnAtBytes = LARGE_WAL_BYTES;
  /** On the clock of `performance.now()`. */
  #checkpointedAtMs = -Infinity;
  #checkpoint: Promise<void> | undefined;

  constructor(db: DatabaseSync, file: string, log: StorageLog) {
    this.#db = db;
    this.#file = file;
    this.#log = log;
  }

  /**
   * Call it outside of a transaction.
   *
   * @param walBytes the size of the WAL now
   * @throws the error of SQLite
   */
  note(walBytes: number): void {
    if (walBytes >= LARGE_WAL_BYTES) this.#noteLarge(walBytes);
    else if (this.#warnAtBytes > LARGE_WAL_BYTES) this.#noteSmallAgain(walBytes);
  }

  /** Waits for a checkpoint in progress. */
  async close(): Promise<void> {
    await this.#checkpoint;
  }

  #noteLarge(walBytes: number): void {
    if (walBytes >= this.#warnAtBytes) {
      this.#db.exec('PRAGMA wal_autocheckpoint = 0');
      this.#log.warn(
        `the write-ahead log ${this.#file}-wal has grown to ${toMib(walBytes)} MiB, because another program keeps ` +
          'reading the file; stop that program',
      );
      while (this.#warnAtBytes <= walBytes) this.#warnAtBytes *= 2;
    }
    const isDue = performance.now() - this.#checkpointedAtMs >= CHECKPOINT_INTERVAL_MS;
    if (this.#checkpoint !== undefined || !isDue) return;
    this.#checkpointedAtMs = performance.now();
    this.#checkpoint = this.#runCheckpoint().finally(() => (this.#checkpoint = undefined));
  }

  #noteSmallAgain(walBytes: number): void {
    this.#db.exec(`PRAGMA wal_autocheckpoint = ${AUTOCHECKPOINT_PAGES}`);
    this.#warnAtBytes = LARGE_WAL_BYTES;
    this.#log.warn(`the write-ahead log ${this.#file}-wal is small again: ${toMib(walBytes)} MiB`);
  }

  async #runCheckpoint(): Promise<void> {
    try {
      await once(new Worker(CHECKPOINT, { eval: true, workerData: this.#file }), 'exit');
    } catch (error) {
      this.#log.warn(`the write-ahead log ${this.#file}-wal could not be checkpointed: ${String(error)}`);
    }
  }
}

function toMib(bytes: number): number {
  return Math.round(bytes / MIB);
}
