import type { Middleware } from 'koa';
import { requestIdOf } from '../wire/request-id.ts';
import type { State } from './state.ts';

export const identifyRequest: Middleware<State> = (ctx, next) => {
  ctx.state.requestId = requestIdOf(ctx.req);
  return next();
};
