import { setTimeout as sleep } from 'node:timers/promises';
import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import { isTransient, toStorageError } from './mongo-errors.ts';

const FIRST_MAX_PAUSE_MS = 25;
const MAX_PAUSE_MS = 500;

/**
 * The time limit of one call to the adapter, retries included. The driver has no such limit: version 7.8 ignores
 * `timeoutMS`, and its other timeouts add up to half a minute when a primary freezes.
 */
export class Deadline {
  readonly #timeoutMs: number;
  readonly #atMs: number;
  #lastFailure: unknown;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#atMs = performance.now() + timeoutMs;
  }

  get hasPassed(): boolean {
    return performance.now() >= this.#atMs;
  }

  /** @throws {StorageUnavailable} at the deadline, if `work` is still pending */
  async limit<T>(work: Promise<T>): Promise<T> {
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    // After a pause of this process, timers run before replies are read. The immediate comes after both.
    const giveUp = () => void setImmediate(() => reject(this.#timedOut()));
    const timer = setTimeout(giveUp, this.#atMs - performance.now());
    try {
      return await Promise.race([work, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Retries `work` after a growing random pause while MongoDB is unavailable. Starts no attempt after the deadline.
   *
   * @throws {StorageUnavailable} after the deadline, or at once if no retry can succeed
   */
  async retry<T>(work: () => Promise<T>): Promise<T> {
    for (let maxPauseMs = FIRST_MAX_PAUSE_MS; ; maxPauseMs = Math.min(2 * maxPauseMs, MAX_PAUSE_MS)) {
      if (this.hasPassed) throw this.#timedOut();
      try {
        return await work();
      } catch (error) {
        const failure = toStorageError(error);
        if (!isTransient(error)) throw failure;
        this.#lastFailure = failure;
      }
      await sleep(Math.random() * maxPauseMs);
    }
  }

  #timedOut(): StorageUnavailable {
    return new StorageUnavailable(`MongoDB did not complete the call within ${this.#timeoutMs} ms`, {
      cause: this.#lastFailure,
    });
  }
}

/** @throws {StorageUnavailable} after `timeoutMs` */
export function withDeadline<T>(timeoutMs: number, work: (deadline: Deadline) => Promise<T>): Promise<T> {
  const deadline = new Deadline(timeoutMs);
  return deadline.limit(work(deadline));
}

/**
 * For work that is safe to repeat.
 *
 * @throws {StorageUnavailable} after `timeoutMs`, or at once if no retry can succeed
 */
export function retryUntilDeadline<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  return withDeadline(timeoutMs, (deadline) => deadline.retry(work));
}
