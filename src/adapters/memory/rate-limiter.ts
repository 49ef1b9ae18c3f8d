import { allowanceOf } from '../../application/keys/allowance.ts';
import type { Allowance, RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { RateLimit } from '../../domain/api-key.ts';

type Window = { count: number; readonly beganAt: number };

/** Counts for one process, each key in windows that begin with its first request. */
export class InMemoryRateLimiter implements RateLimiter {
  // One for each key and limit, which takes the place of the one before it.
  readonly #windows = new Map<string, Window>();
  readonly #now: () => number;

  /** @param now in milliseconds; monotonic, because a clock that is set back would make a window last for hours */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  async take(keyId: string, limit: RateLimit): Promise<Allowance> {
    const { requests, seconds } = limit;
    const name = `${requests}/${seconds}:${keyId}`;
    const lengthMs = seconds * 1_000;
    const now = this.#now();
    let window = this.#windows.get(name);
    if (window === undefined || now - window.beganAt >= lengthMs) {
      window = { count: 0, beganAt: now };
      this.#windows.set(name, window);
    }
    window.count++;
    // Not by the time at which it ends: that would be rounded, and the wait could come out longer than the window.
    const leftMs = lengthMs - (now - window.beganAt);
    return allowanceOf(limit, { count: window.count, leftMs });
  }
}
