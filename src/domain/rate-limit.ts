/** At most `requests` in each window of `seconds`. */
export type RateLimit = {
  /** 1 to {@link RATE_LIMIT_MAX}. */
  readonly requests: number;
  /** 1 to {@link RATE_LIMIT_MAX}. */
  readonly seconds: number;
};

/** The greatest of each; the seconds are a day. */
export const RATE_LIMIT_MAX: RateLimit = { requests: 1_000_000_000, seconds: 86_400 };

/** A window after a request has been counted. */
export type WindowState = {
  /** The number of requests so far, this one included. */
  readonly count: number;
  /** How long the window still lasts. */
  readonly leftMs: number;
};

/** The state of a limit after a request has been counted. */
export type Allowance = {
  /** The request is within the limit. */
  readonly allowed: boolean;
  /** How many more requests the window allows, at least 0. */
  readonly remaining: number;
  /** Seconds until the window ends, from 1 to the length of the window. */
  readonly resetSeconds: number;
};

/** What a limit still allows. A window that is just ending has one second left, and never more than its length. */
export function allowanceOf({ requests, seconds }: RateLimit, { count, leftMs }: WindowState): Allowance {
  return {
    allowed: count <= requests,
    remaining: Math.max(0, requests - count),
    resetSeconds: Math.min(seconds, Math.max(1, Math.ceil(leftMs / 1_000))),
  };
}
