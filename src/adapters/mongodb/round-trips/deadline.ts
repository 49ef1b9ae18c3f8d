import { setTimeout as sleep } from 'node:timers/promises';
import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';

const FIRST_MAX_PAUSE_MS = 25;
const MAX_PAUSE_MS = 500;

/** How the calls to a storage fail. */
export type Failures = {
  /** The message if a call takes too long. */
  readonly late: (timeoutMs: number) => string;
  /** @returns a {@link StorageUnavailable} unless the error is a bug; a bug unchanged */
  readonly toStorageError: (error: unknown) => unknown;
  /** Whether a retry within the same call can succeed. */
  readonly isTransient: (error: unknown) => boolean;
  /** The limit of a call that begins now and may take `timeoutMs`. By default that is the limit. */
  readonly limitMs?: (timeoutMs: number) => number;
};

/** The time limit of one call to a storage, retries included. */
export class Deadline {
  readonly #timeoutMs: number;
  readonly #failures: Failures;
  readonly #atMs: number;
  #lastFailure: unknown;

  constructor(timeoutMs: number, failures: Failures) {
    this.#timeoutMs = timeoutMs;
    this.#failures = failures;
    this.#atMs = performance.now() + timeoutMs;
  }

  get hasPassed(): boolean {
    return performance.now() >= this.#atMs;
  }

  /**
   * Call it at once.
   *
   * @throws {StorageUnavailable} at the deadline, if `work` is still pending
   */
  limit<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      // After a pause of this process, timers run before replies are read. The immediate comes after both.
      const timer = setTimeout(() => setImmediate(() => reject(this.#timedOut())), this.#timeoutMs);
      void work.then(resolve, reject).then(() => clearTimeout(timer));
    });
  }

  /**
   * Retries `work` after a growing random pause while the storage is unavailable. Starts no attempt after the deadline.
   *
   * @throws {StorageUnavailable} after the deadline, or at once if no retry can succeed
   */
  async retry<T>(work: () => Promise<T>): Promise<T> {
    for (let maxPauseMs = FIRST_MAX_PAUSE_MS; ; maxPauseMs = Math.min(2 * maxPauseMs, MAX_PAUSE_MS)) {
      if (this.hasPassed) throw this.#timedOut();
      try {
        return await work();
      } catch (error) {
        const failure = this.#failures.toStorageError(error);
        if (!this.#failures.isTransient(error)) throw failure;
        this.#lastFailure = failure;
      }
      await sleep(Math.random() * maxPauseMs);
    }
  }

  #timedOut(): StorageUnavailable {
    return new StorageUnavailable(this.#failures.late(this.#timeoutMs), { cause: this.#lastFailure });
  }
}

/** @returns what limits the calls to a storage that fails like this */
export function deadlinesFor(failures: Failures) {
  /** @throws {StorageUnavailable} after `timeoutMs` */
  return <T>(timeoutMs: number, work: (deadline: Deadline) => Promise<T>): Promise<T> => {
    const deadline = new Deadline(failures.limitMs?.(timeoutMs) ?? timeoutMs, failures);
    return deadline.limit(work(deadline));
  };
}
