import type { Middleware } from 'koa';
import { queryParser } from '../wire/query.ts';
import { NoQuery } from '../wire/schemas.ts';

const parse = queryParser(NoQuery);

/** Refuses query parameters, for an operation that has none. */
export const refuseQuery: Middleware = (ctx, next) => {
  parse(ctx.querystring);
  return next();
};
