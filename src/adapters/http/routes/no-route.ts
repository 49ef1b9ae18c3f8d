import type { Middleware } from 'koa';
import { sendNoContent, type State } from '../wire/answer.ts';
import { RequestRefused } from '../wire/errors.ts';

type Layer = { readonly methods: readonly string[] };

/**
 * Answers what no route has taken. `allowedMethods` of @koa/router answers 501 to methods that it does not know;
 * RFC 9110, section 15.5.6 wants 405 for a known path.
 */
export const noRoute: Middleware<State> = (ctx) => {
  const matched = ctx['matched'] as readonly Layer[];
  const methods = matched.flatMap((layer) => layer.methods);
  // `OPTIONS *` asks about the service as a whole: RFC 9110, section 9.3.7.
  if (ctx.path === '*') methods.push('GET', 'HEAD', 'POST');
  if (methods.length === 0) throw new RequestRefused('ROUTE_NOT_FOUND', 'there is nothing at this path');
  const allow = [...new Set([...methods, 'OPTIONS'])].toSorted().join(', ');
  if (ctx.method !== 'OPTIONS') {
    throw new RequestRefused('METHOD_NOT_ALLOWED', `this path allows ${allow}`, {
      headers: ['Allow', allow],
    });
  }
  ctx.state.headers.push('Allow', allow);
  sendNoContent(ctx);
};
