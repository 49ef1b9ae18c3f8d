import type { Layer } from '@koa/router';
import type { Middleware } from 'koa';
import type { State } from '../middleware/state.ts';
import { methodNotAllowed, routeNotFound } from '../wire/refusals.ts';

/**
 * Answers what no route has taken. `allowedMethods` of @koa/router answers 501 to methods that it does not know;
 * RFC 9110, section 15.5.6 wants 405 for a known path.
 */
export const noRoute: Middleware<State> = (ctx) => {
  const matched = ctx['matched'] as readonly Layer[];
  const methods = matched.flatMap((layer) => layer.methods);
  // A route called `next` instead of giving an answer: a bug, which writeAnswer reports.
  if (methods.includes(ctx.method)) return;
  // `OPTIONS *` asks about the whole service: RFC 9110, section 9.3.7.
  if (ctx.path === '*') methods.push('GET', 'HEAD', 'POST');
  if (methods.length === 0) throw routeNotFound();
  const allow = [...new Set([...methods, 'OPTIONS'])].toSorted().join(', ');
  if (ctx.method !== 'OPTIONS') throw methodNotAllowed(allow);
  ctx.state.headers['Allow'] = allow;
  ctx.status = 204;
};
