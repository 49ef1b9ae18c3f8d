import type { Allowance } from '../../../application/ports/rate-limiter.ts';
import type { RateLimit } from '../../../domain/api-key.ts';

/** The value of `RateLimit-Policy`: draft-ietf-httpapi-ratelimit-headers-11, section 3. */
export function rateLimitPolicy({ requests, seconds }: RateLimit): string {
  return `"key";q=${requests};w=${seconds}`;
}

/** The value of `RateLimit`: draft-ietf-httpapi-ratelimit-headers-11, section 4. */
export function rateLimitLeft({ remaining, resetSeconds }: Omit<Allowance, 'allowed'>): string {
  return `"key";r=${remaining};t=${resetSeconds}`;
}
