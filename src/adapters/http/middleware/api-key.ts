import type { Middleware } from 'koa';
import type { RateLimiter } from '../../../application/ports/rate-limiter.ts';
import type { Allowance, RateLimit } from '../../../domain/rate-limit.ts';
import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import type { TokenVerifier } from '../../../application/ports/token-verifier.ts';
import { remainingRateLimit, rateLimitPolicy } from '../contract/answer-headers.ts';
import { INVALID_API_KEY, MALFORMED_CREDENTIALS, NO_CREDENTIALS, rateLimited } from '../contract/refusals.ts';
import type { RequestLog } from '../contract/request-log.ts';
import { isVersioned } from '../contract/versions.ts';
import type { State } from './state.ts';

/**
 * Matches `Bearer` (case-insensitive: RFC 9110, section 11.1) and captures a b64token (RFC 6750, section 2.1). The
 * capture of a malformed token is `undefined`.
 */
const CREDENTIALS = /^bearer(?![\w!#$%&'*+.^`|~-])(?: +([\w.~+/-]+=*) *$)?/i;

/** Every path such as `/v1/pets` requires a valid API key. */
export function authenticate(tokens: TokenVerifier): Middleware<State> {
  return async (ctx, next) => {
    if (!isVersioned(ctx.path)) return next();
    const credentials = CREDENTIALS.exec(ctx.req.headers.authorization ?? '');
    // A request with a scheme other than `Bearer` has no credentials: RFC 6750, section 3.1.
    if (credentials === null) throw NO_CREDENTIALS;
    const [, token] = credentials;
    if (token === undefined) throw MALFORMED_CREDENTIALS;
    const caller = await tokens.verify(token);
    if (caller === undefined) throw INVALID_API_KEY;
    ctx.state.caller = caller;
    return next();
  };
}

/**
 * Counts every request of an API key with a limit, and refuses requests beyond that limit. While the limiter is
 * unavailable, requests pass uncounted.
 */
export function limitRate(
  limiter: RateLimiter,
  defaultLimit: RateLimit | undefined,
  log: Pick<RequestLog, 'notLimited'>,
): Middleware<State> {
  return async (ctx, next) => {
    const { caller, requestId } = ctx.state;
    const limit = caller?.rateLimit ?? defaultLimit;
    if (caller === undefined || limit === undefined) return next();
    // The policy also applies to an uncounted request.
    ctx.set('RateLimit-Policy', rateLimitPolicy(limit));
    let allowance: Allowance;
    try {
      allowance = await limiter.take(caller.id, limit);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      log.notLimited(error, requestId);
      return next();
    }
    ctx.set('RateLimit', remainingRateLimit(allowance));
    if (!allowance.allowed) throw rateLimited(limit, allowance.resetSeconds);
    return next();
  };
}
