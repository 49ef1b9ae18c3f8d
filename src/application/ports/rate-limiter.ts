import type { Allowance, RateLimit } from '../../domain/rate-limit.ts';

/** Counts requests. `test/contracts/rate-limiter.ts` tests every adapter against these comments. */
export interface RateLimiter {
  /**
   * Counts one request of a key. A window starts with its first request. Each limit of a key has its own count.
   * Setting a clock never makes a window longer.
   *
   * However many requests come at once, a window admits exactly the limit, and limiters that share their counts admit
   * at most a fifth more. While the counts are out of reach, each limiter counts alone: a request that throws counts as
   * admitted, and beyond the limit the requests are refused.
   *
   * @throws {StorageUnavailable} when the request cannot be counted within half a second, because a client is waiting
   */
  take(keyId: string, limit: RateLimit): Promise<Allowance>;
}
