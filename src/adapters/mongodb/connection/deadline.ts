import { setTimeout as sleep } from 'node:timers/promises';
import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import { isTransient, toStorageError } from './mongo-errors.ts';

/** The limit of a call for a request: twenty seconds, with what the request needs besides. */
export const CALL_TIMEOUT_MS = 19_500;

const FIRST_MAX_PAUSE_MS = 25;
const MAX_PAUSE_MS = 500;

/** What a deadline needs of the `PrimaryWatch`. */
type Primary = {
  readonly hasPrimary: boolean;
  readonly lostMs: number | undefined;
  readonly members: string;
};

/** The time limit of one call to MongoDB, retries included. */
export class Deadline {
  /** On the clock of `performance.now()`. */
  readonly atMs: number;
  readonly #timeoutMs: number;
  readonly #primary: Primary | undefined;
  #lastFailure: Error | undefined;

  /** @param primary tells the caller that there is none, if the call takes too long */
  constructor(timeoutMs: number, primary?: Primary) {
    this.#timeoutMs = timeoutMs;
    this.atMs = performance.now() + timeoutMs;
    this.#primary = primary;
  }

  get hasPassed(): boolean {
    return performance.now() >= this.atMs;
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
        if (!isTransient(failure)) throw failure;
        this.#lastFailure = failure;
      }
      await sleep(Math.random() * maxPauseMs);
    }
  }

  #timedOut(): StorageUnavailable {
    const sinceMs = this.#primary?.lostMs ?? this.atMs - this.#timeoutMs;
    if (this.#primary?.hasPrimary === false)
      return new StorageUnavailable(`MongoDB has no primary; members: ${this.#primary.members}`, { sinceMs });
    const late = `MongoDB did not complete the call within ${this.#timeoutMs} ms`;
    const last = this.#lastFailure && `; the last attempt: ${this.#lastFailure.message}`;
    return new StorageUnavailable(late + (last ?? ''), { sinceMs });
  }
}

/**
 * The driver has no limit for a whole call: version 7.8 ignores `timeoutMS`, and its other timeouts add up to half a
 * minute when a primary freezes.
 *
 * @throws {StorageUnavailable} after `timeoutMs`
 */
export function withDeadline<T>(timeoutMs: number, work: (deadline: Deadline) => Promise<T>): Promise<T> {
  const deadline = new Deadline(timeoutMs);
  return deadline.limit(work(deadline));
}
