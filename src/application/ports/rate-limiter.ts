import type { Allowance, RateLimit } from '../../domain/rate-limit.ts';

/** Counts requests. `test/contracts/rate-limiter.ts` tests every adapter against these comments. */
export interface RateLimiter {
  /**
   * Counts one request. Each limit of a key has its own count. A window begins with its first request. A change of the
   * clock never makes a window longer.
   *
   * A window admits exactly the limit, also for concurrent requests. Limiters that share their counts admit
   * together at most 20% more than the limit. While the shared counts are unreachable, each limiter counts alone: a
   * call that throws counts as an admitted request, and requests beyond the limit are refused.
   *
   * @throws {StorageUnavailable} when the request is not counted within 0.5 s, because its client is waiting
   */
  take(keyId: string, limit: RateLimit): Promise<Allowance>;
}
