import { setTimeout as sleep } from 'node:timers/promises';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { isLasting, translated } from './errors.ts';

const MAX_PAUSE_MS = 500;

/** The time that one call of the adapter may take, however often it tries again and whatever hangs. */
export class Deadline {
  readonly #ms: number;
  readonly #at: number;
  #lastFailure: unknown;

  constructor(ms: number) {
    this.#ms = ms;
    this.#at = performance.now() + ms;
  }

  get passed(): boolean {
    return performance.now() >= this.#at;
  }

  /**
   * The outcome of the work, or {@link StorageUnavailable} at the deadline. The driver has no such bound: its
   * `timeoutMS` does nothing, and its other timeouts add up to half a minute when a primary freezes.
   */
  async bound<T>(work: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(this.#late()), this.#at - performance.now());
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Tries again, after a growing random pause, for as long as the database is to blame and there is time. Begins
   * nothing after the deadline, when nobody waits for it any more.
   */
  async retry<T>(work: () => Promise<T>): Promise<T> {
    for (let pause = 25; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
      if (this.passed) throw this.#late();
      try {
        return await work();
      } catch (error) {
        const failure = translated(error);
        if (!(failure instanceof StorageUnavailable) || isLasting(error)) throw failure;
        this.#lastFailure = failure;
      }
      await sleep(Math.random() * pause);
    }
  }

  #late(): StorageUnavailable {
    return new StorageUnavailable(`MongoDB did not do it within ${this.#ms} ms`, {
      cause: this.#lastFailure,
    });
  }
}
