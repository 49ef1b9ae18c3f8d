import type { RateLimit } from '../../domain/api-key.ts';
import type { Allowance } from '../ports/rate-limiter.ts';

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
