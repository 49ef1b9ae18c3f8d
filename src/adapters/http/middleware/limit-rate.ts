import type { Middleware, Next, ParameterizedContext } from 'koa';
import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import type { Allowance, RateLimiter } from '../../../application/ports/rate-limiter.ts';
import type { RateLimit } from '../../../domain/api-key.ts';
import type { RequestLog } from '../request-log.ts';
import { rateLimitLeft, rateLimitPolicy } from '../wire/rate-limit.ts';
import { rateLimited } from '../wire/refusals.ts';
import type { State } from './state.ts';

/**
 * Counts every request of an API key that has a limit, whatever its outcome, and refuses those beyond the limit. When
 * the limiter is unavailable, requests pass uncounted.
 *
 * @param rateLimit the limit of keys that have none themselves
 */
export function limitRate(
  limiter: RateLimiter,
  rateLimit: RateLimit | undefined,
  log: Pick<RequestLog, 'notLimited'>,
): Middleware<State> {
  const count = async (ctx: ParameterizedContext<State>, next: Next, keyId: string, limit: RateLimit) => {
    const { headers, requestId } = ctx.state;
    // The policy holds even if the request cannot be counted.
    headers['RateLimit-Policy'] = rateLimitPolicy(limit);
    let allowance: Allowance;
    try {
      allowance = await limiter.take(keyId, limit);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      log.notLimited(error, requestId);
      return next();
    }
    headers['RateLimit'] = rateLimitLeft(allowance);
    if (!allowance.allowed) throw rateLimited(limit, allowance);
    return next();
  };
  return (ctx, next) => {
    const { caller } = ctx.state;
    const limit = caller?.rateLimit ?? rateLimit;
    return caller === undefined || limit === undefined ? next() : count(ctx, next, caller.id, limit);
  };
}
