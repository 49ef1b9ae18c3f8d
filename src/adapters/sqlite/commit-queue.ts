import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageHost, StorageMeter } from '../../application/ports/storage-health.ts';
import { transaction } from './connection.ts';
import { BUSY_PAUSE_MS, endIfSyncFailed, isBusy, translated } from './errors.ts';
import type { FileGuard } from './file-guard.ts';
import { type Batch, Flushes } from './flushes.ts';
import type { LogDisk } from './log-disk.ts';

/** The longest duration of a write, from its call to the end of its flush. */
const WRITE_TIMEOUT_MS = 10_000;

/** After a flush quicker than this, the queue waits one more turn for inserts: see docs/explanation/group-commit.md. */
const QUICK_FLUSH_MS = 1.5;

const SLOW_CLOSE_MS = 1_000;

type WaitingWrite = Pick<PromiseWithResolvers<unknown>, 'resolve' | 'reject'> & {
  readonly work: (batch: Batch) => unknown;
  readonly isInsert: boolean;
};

/**
 * Runs a write in a transaction of its own. Resolves when the write is on the disk.
 *
 * @param timeoutMs {@link WRITE_TIMEOUT_MS} by default
 * @throws the error of the write, after which nothing is stored
 * @throws {StorageUnavailable} also after the timeout; a write that is not committed by then is never committed
 */
export type DurableWrite = <T>(write: () => T, timeoutMs?: number) => Promise<T>;

type Options = {
  readonly guard: Pick<FileGuard, 'before' | 'after'>;
  /** Absent for a connection with `synchronous = FULL`, whose commits wait for the disk. */
  readonly disk?: Pick<LogDisk, 'flush' | 'checkpointIfDue'> | undefined;
  readonly host: StorageHost;
  readonly meter?: StorageMeter | undefined;
  readonly timeoutMs?: number | undefined;
};

/**
 * Group commit: inserts that wait at the same time share one transaction and one flush.
 * docs/explanation/group-commit.md explains every step. A failed sync ends the process:
 * docs/explanation/group-commit.md#when-a-sync-fails.
 */
export class CommitQueue {
  readonly #db: DatabaseSync;
  readonly #options: Options;
  readonly #waiting = new Set<WaitingWrite>();
  readonly #flushes: Flushes;
  #currentRun: Promise<void> | undefined;
  #lastFlushMs = 0;
  #isClosed = false;

  constructor(db: DatabaseSync, options: Options) {
    this.#db = db;
    this.#options = options;
    this.#flushes = new Flushes(options.host, options.disk);
  }

  get hiddenFrom(): Flushes['hiddenFrom'] {
    return this.#flushes.hiddenFrom;
  }

  readonly write: DurableWrite = async (work, timeoutMs) => this.#add({ work, isInsert: false }, timeoutMs);

  /** @param work returns an error that concerns only this insert, and throws an error of the whole batch */
  async insert<T>(work: (batch: Batch) => T | Error): Promise<T> {
    return this.#add({ work, isInsert: true });
  }

  /**
   * Refuses new writes. Resolves when every earlier write is settled and on the disk. Closing the connection earlier
   * would checkpoint pages that no flush has confirmed.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const slowTimer = setTimeout(() => {
      this.#options.host.warn(
        'the disk does not confirm the last writes; until it does, this process may have to be ended with SIGKILL',
      );
    }, SLOW_CLOSE_MS);
    await this.#currentRun;
    await this.#flushes.atMost(0);
    clearTimeout(slowTimer);
  }

  async #add<T>(
    write: Pick<WaitingWrite, 'work' | 'isInsert'>,
    timeoutMs = this.#options.timeoutMs ?? WRITE_TIMEOUT_MS,
  ): Promise<T> {
    if (this.#isClosed) throw new StorageUnavailable('the storage is closed');
    const { promise, ...settle } = Promise.withResolvers<unknown>();
    const waiting = { ...write, ...settle };
    const timer = setTimeout(() => {
      const outcome = this.#waiting.delete(waiting) ? 'was not stored' : 'may be stored';
      waiting.reject(new StorageUnavailable(`a write has taken more than ${timeoutMs} ms and ${outcome}`));
    }, timeoutMs);
    this.#waiting.add(waiting);
    this.#currentRun ??= this.#run();
    try {
      return (await promise) as T;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Never rejects, because each failure rejects the writes of its batch. */
  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      const waitingBefore = this.#waiting.size;
      await nextTurn();
      if (this.#waiting.size > waitingBefore && this.#lastFlushMs < QUICK_FLUSH_MS) await nextTurn();
      await this.#flushes.atMost();
      await this.#commit();
    }
    this.#currentRun = undefined;
  }

  async #commit(): Promise<void> {
    let batch: readonly WaitingWrite[] = [...this.#waiting];
    try {
      await this.#options.disk?.checkpointIfDue();
      this.#options.guard.before();
      batch = this.#nextBatch();
      const ids: Batch = {};
      const outcomes = transaction(this.#db, () => batch.map(({ work }) => work(ids)));
      for (const waiting of batch) this.#waiting.delete(waiting);
      void this.#flush(batch, outcomes, ids);
    } catch (error) {
      // The first commit after a checkpoint syncs the header of the log.
      endIfSyncFailed(error, this.#options.host);
      if (!isBusy(error)) this.#reject(batch, error);
      await sleep(BUSY_PAUSE_MS);
    }
  }

  /** All inserts if the oldest write is an insert, otherwise the oldest write alone. */
  #nextBatch(): readonly WaitingWrite[] {
    const [oldest, ...laterWrites] = this.#waiting;
    if (oldest === undefined) return [];
    return oldest.isInsert ? [oldest, ...laterWrites.filter(({ isInsert }) => isInsert)] : [oldest];
  }

  async #flush(batch: readonly WaitingWrite[], outcomes: readonly unknown[], ids: Batch): Promise<void> {
    const startMs = performance.now();
    const acknowledge = () => {
      this.#lastFlushMs = performance.now() - startMs;
      this.#options.guard.after();
      if (batch[0]?.isInsert === true) this.#options.meter?.insertsCommitted(batch.length);
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      }
    };
    await this.#flushes.flush(ids, acknowledge).catch((error) => this.#reject(batch, error));
  }

  #reject(writes: Iterable<WaitingWrite>, error: unknown): void {
    for (const waiting of writes) {
      this.#waiting.delete(waiting);
      waiting.reject(translated(error));
    }
  }
}
