import type Router from '@koa/router';
import type { Layer, RouterContext } from '@koa/router';
import type { Middleware, ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import type { State } from '../middleware/state.ts';
import { methodNotAllowed, routeNotFound } from '../wire/refusals.ts';

type Context = ParameterizedContext<State>;

/**
 * Hands each request to the route for its path and method, and answers a request without one.
 *
 * `router.routes()` would compose the middleware of the route anew for each request, which is slow. `allowedMethods`
 * would answer 501 to an unknown method, but RFC 9110, section 15.5.6, requires 405 on a known path.
 */
export function dispatch(...routers: readonly Router<State>[]): Middleware<State> {
  const routes = routers
    .flatMap(({ stack }) => stack)
    .map((layer) => ({ layer, handle: compose(layer.stack as compose.Middleware<Context>[]) }));
  return (ctx) => {
    const { path, method } = ctx;
    const route = routes.find(({ layer }) => layer.methods.includes(method) && layer.match(path));
    if (route === undefined) {
      const at = (place: string) => routes.map(({ layer }) => layer).filter((layer) => layer.match(place));
      answerWithoutRoute(ctx, at(path), path.endsWith('/') ? at(path.slice(0, -1))[0] : undefined);
      return undefined;
    }
    const { layer, handle } = route;
    ctx.state.route = String(layer.path);
    (ctx as RouterContext).params = layer.params(path, layer.captures(path));
    return handle(ctx);
  };
}

function answerWithoutRoute(ctx: Context, layers: readonly Layer[], meant: Layer | undefined): void {
  const methods = layers.flatMap((layer) => layer.methods);
  // `OPTIONS *` asks about the whole service: RFC 9110, section 9.3.7.
  if (ctx.path === '*') methods.push('GET', 'HEAD', 'POST');
  if (methods.length === 0) throw routeNotFound(meant?.path.toString());
  const allow = [...new Set([...methods, 'OPTIONS'])].toSorted().join(', ');
  if (ctx.method !== 'OPTIONS') throw methodNotAllowed(allow);
  ctx.state.headers['Allow'] = allow;
  ctx.status = 204;
}
