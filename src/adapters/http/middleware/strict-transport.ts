import type { Middleware } from 'koa';
import { A_YEAR } from '../contract/answer-headers.ts';
import type { BaseUrl } from './request-target.ts';
import type { State } from './state.ts';

/** A name of the machine itself. A browser would ask for TLS on every port of it, whatever serves there. */
const IS_LOOPBACK = /^https:\/\/(?:(?:[^/:]*\.)?localhost\.?|127\.[\d.]+|\[::1\])(?:[:/]|$)/i;

/** Tells browsers on every answer to a URL of https that they must not use http for its host any more. */
export function requireTls(baseUrl: BaseUrl): Middleware<State> {
  return (ctx, next) => {
    const url = baseUrl(ctx.req);
    if (url.startsWith('https:') && !IS_LOOPBACK.test(url)) ctx.set('Strict-Transport-Security', A_YEAR);
    return next();
  };
}
