import { setTimeout as sleep } from 'node:timers/promises';
import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import { isTransient, toStorageError } from './mongo-errors.ts';

/** A request may take 20 s, so 0.5 s remain for its other steps. */
export const CALL_TIMEOUT_MS = 19_500;

const FIRST_MAX_PAUSE_MS = 25;
const MAX_PAUSE_MS = 500;

type PrimaryState = {
  readonly hasPrimary: boolean;
  readonly lostMs: number | undefined;
  readonly members: string;
};

export class Deadline {
  /** On the clock of `performance.now()`. */
  readonly atMs: number;
  readonly #timeoutMs: number;
  readonly #primary: PrimaryState | undefined;
  #lastFailure: Error | undefined;

  /** @param primary explains a timeout while there is no primary */
  constructor(timeoutMs: number, primary?: PrimaryState) {
    this.#timeoutMs = timeoutMs;
    this.atMs = performance.now() + timeoutMs;
    this.#primary = primary;
  }

  get hasPassed(): boolean {
    return performance.now() >= this.atMs;
  }

  /**
   * Must be called immediately after the constructor.
   *
   * @throws {StorageUnavailable} at the deadline, if `work` is still pending
   */
  limit<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      // After a pause of this process, Node runs timers before it reads replies. `setImmediate` waits for the replies.
      const timer = setTimeout(() => setImmediate(() => reject(this.#timeoutError())), this.#timeoutMs);
      void work.then(resolve, reject).then(() => clearTimeout(timer));
    });
  }

  /**
   * Retries `work` after growing random pauses while MongoDB is unavailable. No attempt starts after the deadline.
   *
   * @throws {StorageUnavailable} after the deadline, or immediately if no retry can succeed
   */
  async retry<T>(work: () => Promise<T>): Promise<T> {
    for (let maxPauseMs = FIRST_MAX_PAUSE_MS; ; maxPauseMs = Math.min(2 * maxPauseMs, MAX_PAUSE_MS)) {
      if (this.hasPassed) throw this.#timeoutError();
      try {
        return await work();
      } catch (error) {
        const failure = toStorageError(error);
        if (!isTransient(failure)) throw failure;
        this.#lastFailure = failure;
      }
      await sleep(Math.random() * maxPauseMs);
    }
  }

  #timeoutError(): StorageUnavailable {
    const sinceMs = this.#primary?.lostMs ?? this.atMs - this.#timeoutMs;
    if (this.#primary?.hasPrimary === false)
      return new StorageUnavailable(`MongoDB has no primary; members: ${this.#primary.members}`, { sinceMs });
    const timeoutText = `MongoDB did not complete the call within ${this.#timeoutMs} ms`;
    const attemptText = this.#lastFailure && `; the last attempt: ${this.#lastFailure.message}`;
    return new StorageUnavailable(timeoutText + (attemptText ?? ''), { sinceMs });
  }
}

/**
 * Limits a whole call, because the driver has no such limit: see
 * docs/explanation/a-write-on-mongodb.md#3-the-call-of-the-port.
 *
 * @throws {StorageUnavailable} after `timeoutMs`
 */
export function withDeadline<T>(timeoutMs: number, work: (deadline: Deadline) => Promise<T>): Promise<T> {
  const deadline = new Deadline(timeoutMs);
  return deadline.limit(work(deadline));
}
