import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Allowance, RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { RateLimit } from '../../domain/api-key.ts';

/** Counts for as long as the process lives, and for this process alone. */
export class InMemoryRateLimiter implements RateLimiter {
  /** One for each distinct limit. */
  readonly #counters = new Map<string, RateLimiterMemory>();

  async take(keyId: string, limit: RateLimit): Promise<Allowance> {
    try {
      return allowance(true, await this.#counter(limit).consume(keyId));
    } catch (error) {
      if (error instanceof RateLimiterRes) return allowance(false, error);
      throw error;
    }
  }

  #counter({ requests, seconds }: RateLimit): RateLimiterMemory {
    const name = `${requests}/${seconds}`;
    let counter = this.#counters.get(name);
    if (counter === undefined) {
      counter = new RateLimiterMemory({ keyPrefix: name, points: requests, duration: seconds });
      this.#counters.set(name, counter);
    }
    return counter;
  }
}

function allowance(allowed: boolean, { remainingPoints, msBeforeNext }: RateLimiterRes): Allowance {
  return {
    allowed,
    remaining: Math.max(0, remainingPoints),
    resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
  };
}
