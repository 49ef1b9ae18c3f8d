import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Allowance, RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { RateLimit } from '../../domain/api-key.ts';

/** Counts for one process. A count is forgotten when its window ends. */
export class InMemoryRateLimiter implements RateLimiter {
  // As many as there are different limits, which is at most one for each key.
  readonly #limiters = new Map<string, RateLimiterMemory>();

  async take(keyId: string, limit: RateLimit): Promise<Allowance> {
    try {
      return allowance(true, await this.#limiter(limit).consume(keyId));
    } catch (error) {
      // How the library says that the limit is passed.
      if (error instanceof RateLimiterRes) return allowance(false, error);
      throw error;
    }
  }

  #limiter({ requests, seconds }: RateLimit): RateLimiterMemory {
    const name = `${requests}/${seconds}`;
    const known = this.#limiters.get(name);
    if (known !== undefined) return known;
    const limiter = new RateLimiterMemory({ keyPrefix: name, points: requests, duration: seconds });
    this.#limiters.set(name, limiter);
    return limiter;
  }
}

function allowance(allowed: boolean, { remainingPoints, msBeforeNext }: RateLimiterRes): Allowance {
  return {
    allowed,
    remaining: remainingPoints,
    resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1_000)),
  };
}
