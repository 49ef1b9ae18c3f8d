import type Router from '@koa/router';
import type { RouterContext } from '@koa/router';
import type { Middleware, ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import { allowHeader, methodNotAllowed, routeNotFound } from '../contract/refusals.ts';
import type { State } from './log-request.ts';

type Context = ParameterizedContext<State>;

/**
 * Hands each request to its route, and answers one without a route. `router.routes()` would compose the middleware of the
 * route anew for each request. Without it, a list costs a quarter less. `router.allowedMethods()` would answer 501 to an
 * unknown method, but RFC 9110, section 15.5.6, requires 405 on a known path.
 */
export function routes({ stack }: Router<State>): Middleware<State> {
  const handlers = stack.map((layer) => ({
    layer,
    handle: compose(layer.stack as compose.Middleware<Context>[]),
  }));
  return (ctx) => {
    const { path, method } = ctx;
    const route = handlers.find(({ layer }) => layer.methods.includes(method) && layer.match(path));
    if (route === undefined) return answerMethods(ctx, stack);
    ctx.state.route = String(route.layer.path);
    (ctx as RouterContext).params = route.layer.params(path, route.layer.captures(path));
    return route.handle(ctx);
  };
}

function answerMethods(ctx: Context, stack: Router<State>['stack']): void {
  const { path, method } = ctx;
  const at = (place: string) => stack.filter((layer) => layer.match(place));
  // `OPTIONS *` asks about the whole service: RFC 9110, section 9.3.7.
  const methods = (path === '*' ? stack : at(path)).flatMap((layer) => layer.methods);
  if (methods.length === 0) {
    const bare = path.replace(/\/$/, '');
    throw routeNotFound([bare, `/v1${bare}`].flatMap(at)[0]?.path.toString());
  }
  const allow = allowHeader(methods);
  if (method !== 'OPTIONS') throw methodNotAllowed(allow);
  ctx.state.headers['Allow'] = allow;
  ctx.status = 204;
}
