import type { Allowance, RateLimit } from '../../../domain/rate-limit.ts';

export type Headers = Readonly<Record<string, string>>;

/** One year in seconds: RFC 6797, section 6.1. Subdomains may be other services, so the value excludes them. */
export const HTTPS_ONLY = 'max-age=31536000';

/** Every answer has these headers, unless a route replaces them. */
export function answerHeaders(requestId: string) {
  return {
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'Content-Type': 'application/json; charset=utf-8',
  } as const;
}

/** The value of `RateLimit-Policy`: draft-ietf-httpapi-ratelimit-headers-11, section 3. */
export function rateLimitPolicy({ requests, seconds }: RateLimit): string {
  return `"key";q=${requests};w=${seconds}`;
}

/** The value of `RateLimit`: draft-ietf-httpapi-ratelimit-headers-11, section 4. */
export function remainingRateLimit({ remaining, resetSeconds }: Omit<Allowance, 'allowed'>): string {
  return `"key";r=${remaining};t=${resetSeconds}`;
}
