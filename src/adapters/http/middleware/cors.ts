import type { Middleware } from 'koa';
import { sendNoContent, type State } from '../wire/answer.ts';

/** What a page may read of an answer beside the headers that every page may: https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name */
const EXPOSED_HEADERS = [
  'Link',
  'Location',
  'Deprecation',
  'Sunset',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Request-Id',
  'Idempotent-Replayed',
  'WWW-Authenticate',
].join(', ');

/** `Authorization` must be named: `*` would not mean it. */
const PREFLIGHT = [
  ['Allow', 'GET, HEAD, OPTIONS, POST'],
  ['Access-Control-Allow-Methods', 'GET, HEAD, POST'],
  [
    'Access-Control-Allow-Headers',
    'Authorization, Content-Type, Content-Encoding, Idempotency-Key, X-Request-Id',
  ],
  // In seconds: 2 hours, the most that Chromium takes.
  ['Access-Control-Max-Age', '7200'],
].flat();

/**
 * Lets pages of these origins read every answer to a request that could be read, errors included. Not with credentials: those of a browser are
 * cookies, and a key is in a header that the page sets itself.
 */
export function allowOrigins(origins: readonly string[]): Middleware<State> {
  return ({ req, state }, next) => {
    const { origin } = req.headers;
    state.headers.push('Vary', 'Origin');
    if (origin !== undefined && origins.includes(origin)) {
      state.headers.push(
        'Access-Control-Allow-Origin',
        origin,
        'Access-Control-Expose-Headers',
        EXPOSED_HEADERS,
      );
    }
    return next();
  };
}

/**
 * Answers a browser that asks whether a page of these origins may send a request. It asks without the key, so that the
 * answer tells nothing about what is there.
 */
export function answerPreflight(origins: readonly string[]): Middleware<State> {
  return (ctx, next) => {
    const { origin, 'access-control-request-method': method } = ctx.req.headers;
    if (ctx.method !== 'OPTIONS' || method === undefined || !origins.includes(origin ?? '')) return next();
    ctx.state.headers.push(...PREFLIGHT);
    return sendNoContent(ctx);
  };
}
