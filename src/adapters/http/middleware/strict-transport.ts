import type { Middleware } from 'koa';
import { A_YEAR } from '../contract/answer-headers.ts';
import type { BaseUrl } from './request-target.ts';
import type { State } from './state.ts';

/** For these hosts, a browser would apply the header to every program on this machine. */
const IS_LOOPBACK = /^https:\/\/(?:(?:[^/:]*\.)?localhost\.?|127\.[\d.]+|\[::1\])(?:[:/]|$)/i;

/** Makes browsers use only https for this host: RFC 6797. */
export function requireTls(baseUrl: BaseUrl): Middleware<State> {
  return (ctx, next) => {
    const url = baseUrl(ctx.req);
    if (url.startsWith('https:') && !IS_LOOPBACK.test(url)) ctx.set('Strict-Transport-Security', A_YEAR);
    return next();
  };
}
