/** At most `requests` in each window of `seconds`: both from 1 to {@link RATE_LIMIT_MAX}. */
export type RateLimit = {
  readonly requests: number;
  readonly seconds: number;
};

/** The greatest values of a limit: 86,400 s are one day. */
export const RATE_LIMIT_MAX: RateLimit = { requests: 1_000_000_000, seconds: 86_400 };

/** A window after a request was counted. */
export type WindowState = {
  /** The requests in this window, including the counted request. */
  readonly count: number;
  /** Until the window ends. */
  readonly leftMs: number;
};

export type Allowance = {
  /** Whether the counted request is within the limit. */
  readonly allowed: boolean;
  /** Further requests that the window admits, at least 0. */
  readonly remaining: number;
  /** Seconds until the window ends, from 1 to the length of the window. */
  readonly resetSeconds: number;
};

export function allowanceOf({ requests, seconds }: RateLimit, { count, leftMs }: WindowState): Allowance {
  return {
    allowed: count <= requests,
    remaining: Math.max(0, requests - count),
    resetSeconds: Math.min(seconds, Math.max(1, Math.ceil(leftMs / 1_000))),
  };
}
