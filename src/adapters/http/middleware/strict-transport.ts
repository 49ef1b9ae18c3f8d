import type { Middleware } from 'koa';
import { HTTPS_ONLY } from '../contract/answer-headers.ts';
import type { BaseUrl } from './request-target.ts';
import type { State } from './state.ts';

/** For these hosts, a browser would apply the header to every service on this machine. */
const LOOPBACK_URL = /^https:\/\/(?:(?:[^/:]*\.)?localhost\.?|127\.[\d.]+|\[::1\])(?:[:/]|$)/i;

/** Makes browsers use only https for this host: RFC 6797. */
export function setStrictTransport(baseUrl: BaseUrl): Middleware<State> {
  return (ctx, next) => {
    const url = baseUrl(ctx.req);
    if (url.startsWith('https:') && !LOOPBACK_URL.test(url)) ctx.set('Strict-Transport-Security', HTTPS_ONLY);
    return next();
  };
}
