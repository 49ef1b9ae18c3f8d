import type { Middleware } from 'koa';
import type { State } from '../wire/answer.ts';
import { RequestRefused } from '../wire/errors.ts';

/** getPet is deprecated since the day 1.0.0 was published, 20 November 2026: RFC 9745. */
export const DEPRECATION = '@1795132800';

/** It is removed on 5 December 2030: RFC 8594. */
export const SUNSET = new Date('2030-12-05T00:00:00Z');

const PATH = /^\/v1\/pets\/[^/]+$/;

/** Tells on every response of getPet's path, whatever its status, that the operation is deprecated. */
export function announceDeprecation(baseUrl: (ctx: Parameters<Middleware>[0]) => string): Middleware<State> {
  return (ctx, next) => {
    if (PATH.test(ctx.path)) {
      ctx.state.headers.push('Deprecation', DEPRECATION);
      ctx.state.headers.push('Sunset', SUNSET.toUTCString());
      ctx.state.headers.push('Link', `<${baseUrl(ctx)}/docs#getPet>; rel="deprecation"; type="text/html"`);
    }
    return next();
  };
}

/** Refuses the operation from the sunset instant on. */
export function goneAfterSunset(now: () => Date): Middleware {
  return (_ctx, next) => {
    if (isSunset(now()))
      throw new RequestRefused('GONE', 'this operation was removed on 5 December 2030; use GET /v1/pets');
    return next();
  };
}

export function isSunset(now: Date): boolean {
  return now >= SUNSET;
}
