import type { RateLimit } from '../../domain/api-key.ts';

/** What is left of a limit after a request has been counted. */
export type Allowance = {
  /** The request is within the limit. */
  readonly allowed: boolean;
  /** How many more requests the window has, at least 0. */
  readonly remaining: number;
  /** When the window ends and all requests are there again: in seconds from now, from 1 to the length of the window. */
  readonly resetSeconds: number;
};

/** Counts requests. `test/contracts/rate-limiter.ts` holds every adapter to what is written here. */
export interface RateLimiter {
  /**
   * Counts one request of a key. Its window begins with its first request. Another limit for the same key is another
   * count. No clock that is set makes a window longer.
   *
   * @throws {StorageUnavailable} when it cannot be counted, within half a second: whoever waits is a client
   */
  take(keyId: string, limit: RateLimit): Promise<Allowance>;
}
