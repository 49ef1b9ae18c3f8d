import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import { allowanceOf, type Allowance, type RateLimit } from '../../domain/rate-limit.ts';

type RequestWindow = { count: number; readonly startMs: number };

export class InMemoryRateLimiter implements RateLimiter {
  readonly #windows = new Map<string, RequestWindow>();
  readonly #nowMs: () => number;

  /** @param nowMs a monotonic clock, because a wall clock that is set back would make a window last for hours */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  async take(keyId: string, limit: RateLimit): Promise<Allowance> {
    const { requests, seconds } = limit;
    const windowName = `${requests}/${seconds}:${keyId}`;
    const windowMs = seconds * 1_000;
    const nowMs = this.#nowMs();
    let window = this.#windows.get(windowName);
    if (window === undefined || nowMs - window.startMs >= windowMs) {
      window = { count: 0, startMs: nowMs };
      this.#windows.set(windowName, window);
    }
    window.count++;
    return allowanceOf(limit, { count: window.count, leftMs: windowMs - (nowMs - window.startMs) });
  }
}
