import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { DEPRECATION, isSunset, SUNSET_HEADER } from '../wire/deprecation.ts';
import { GONE } from '../wire/refusals.ts';
import type { State } from './state.ts';

const GET_PET_PATH = /^\/v1\/pets\/[^/]+$/;

/** Announces on every response of getPet's path, whatever its status, that the operation is deprecated. */
export function announceDeprecation(baseUrl: (request: IncomingMessage) => string): Middleware<State> {
  return (ctx, next) => {
    if (GET_PET_PATH.test(ctx.path)) {
      const { headers } = ctx.state;
      headers['Deprecation'] = DEPRECATION;
      headers['Sunset'] = SUNSET_HEADER;
      headers['Link'] = `<${baseUrl(ctx.req)}/docs#getPet>; rel="deprecation"; type="text/html"`;
    }
    return next();
  };
}

/** Refuses the operation from the sunset instant on. */
export function goneAfterSunset(now: () => Date): Middleware {
  return (_ctx, next) => {
    if (isSunset(now())) throw GONE;
    return next();
  };
}
