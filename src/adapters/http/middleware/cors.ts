import type { Middleware } from 'koa';
import { allowHeader, methodList } from './routes.ts';
import type { State } from './state.ts';

/** Pages can also read the headers of https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name. */
const EXPOSED_HEADERS =
  'Link, Next-Cursor, Location, Deprecation, Sunset, RateLimit, RateLimit-Policy, Retry-After, ' +
  'X-Request-Id, Idempotent-Replayed, WWW-Authenticate';

const PREFLIGHT_HEADERS = {
  // `*` would not cover Authorization: https://fetch.spec.whatwg.org/#cors-non-wildcard-request-header-name
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, Content-Encoding, Idempotency-Key, X-Request-Id, traceparent, tracestate, baggage',
  // In seconds: 2 hours, the maximum of Chromium.
  'Access-Control-Max-Age': '7200',
};

/**
 * Lets pages of these origins read every answer to a parsed request, errors included. No cookies are allowed, because
 * a page sends its API key in a header.
 */
export function allowOrigins(origins: readonly string[]): Middleware<State> {
  return (ctx, next) => {
    const { origin } = ctx.req.headers;
    ctx.vary('Origin');
    if (origin !== undefined && origins.includes(origin)) {
      ctx.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED_HEADERS });
    }
    return next();
  };
}

/** Answers preflights. The answer is the same for every path, because a preflight carries no API key. */
export function answerPreflight(origins: readonly string[], methods: readonly string[]): Middleware<State> {
  const methodHeaders = { Allow: allowHeader(methods), 'Access-Control-Allow-Methods': methodList(methods) };
  return (ctx, next) => {
    const { origin, 'access-control-request-method': method } = ctx.req.headers;
    if (ctx.method !== 'OPTIONS' || method === undefined || !origins.includes(origin ?? '')) return next();
    ctx.set({ ...methodHeaders, ...PREFLIGHT_HEADERS });
    ctx.status = 204;
    return undefined;
  };
}
