import type { RateLimit } from '../../domain/api-key.ts';

/** The state of a limit after a request has been counted. */
export type Allowance = {
  /** The request is within the limit. */
  readonly allowed: boolean;
  /** How many more requests the window allows, at least 0. */
  readonly remaining: number;
  /** Seconds until the window ends, from 1 to the length of the window. */
  readonly resetSeconds: number;
};

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

/** A window after a request has been counted. */
export type WindowState = {
  /** The number of requests so far, this one included. */
  readonly count: number;
  /** How long the window still lasts. */
  readonly leftMs: number;
};

/** What a limit still allows. A window that is just ending has one second left, and never more than its length. */
export function allowanceOf({ requests, seconds }: RateLimit, { count, leftMs }: WindowState): Allowance {
  return {
    allowed: count <= requests,
    remaining: Math.max(0, requests - count),
    resetSeconds: Math.min(seconds, Math.max(1, Math.ceil(leftMs / 1_000))),
  };
}
