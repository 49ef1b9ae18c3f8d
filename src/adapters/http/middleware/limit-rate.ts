import type { Middleware, Next, ParameterizedContext } from 'koa';
import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import type { Allowance, RateLimiter } from '../../../application/ports/rate-limiter.ts';
import type { Caller } from '../../../application/ports/token-verifier.ts';
import type { RateLimit } from '../../../domain/api-key.ts';
import type { State } from '../wire/answer.ts';
import { RequestRefused } from '../wire/errors.ts';
import type { RequestLog } from '../request-log.ts';

export type RateLimiting = {
  readonly limiter: RateLimiter;
  /** What holds for every key that has no limit of its own; `undefined` is no limit. */
  readonly rateLimit: RateLimit | undefined;
};

/** Counts every request that comes with a key that has a limit, whatever becomes of it, and refuses those beyond. */
export function limitRate(
  { limiter, rateLimit }: RateLimiting,
  log: Pick<RequestLog, 'notLimited'>,
): Middleware<State> {
  const count = async (ctx: ParameterizedContext<State>, next: Next, { id }: Caller, limit: RateLimit) => {
    const { headers, requestId } = ctx.state;
    // True also of a request that could not be counted.
    headers.push('RateLimit-Policy', rateLimitPolicy(limit));
    let allowance: Allowance;
    try {
      allowance = await limiter.take(id, limit);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      log.notLimited(error, requestId);
      return next();
    }
    headers.push('RateLimit', rateLimitLeft(allowance));
    if (!allowance.allowed) throw rateLimited(limit, allowance);
    return next();
  };
  return (ctx, next) => {
    const { caller } = ctx.state;
    const limit = caller?.rateLimit ?? rateLimit;
    return caller === undefined || limit === undefined ? next() : count(ctx, next, caller, limit);
  };
}

/** draft-ietf-httpapi-ratelimit-headers-11, section 3. */
export function rateLimitPolicy({ requests, seconds }: RateLimit): string {
  return `"key";q=${requests};w=${seconds}`;
}

/** draft-ietf-httpapi-ratelimit-headers-11, section 4. */
export function rateLimitLeft({ remaining, resetSeconds }: Omit<Allowance, 'allowed'>): string {
  return `"key";r=${remaining};t=${resetSeconds}`;
}

export function rateLimited(
  { requests, seconds }: RateLimit,
  { resetSeconds }: Omit<Allowance, 'allowed'>,
): RequestRefused {
  const message = `the API key may send at most ${requests} requests in ${seconds} s; try again in ${resetSeconds} s`;
  return new RequestRefused('RATE_LIMITED', message, { headers: ['Retry-After', String(resetSeconds)] });
}
