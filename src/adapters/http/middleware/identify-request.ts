import type { Middleware } from 'koa';
import { requestIdOf } from '../wire/request-id.ts';
import type { State } from './state.ts';

/** Gives the request its id. */
export const identifyRequest: Middleware<State> = (ctx, next) => {
  ctx.state.requestId = requestIdOf(ctx.req);
  return next();
};
