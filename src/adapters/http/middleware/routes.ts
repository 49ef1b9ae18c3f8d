import type { RouterMiddleware } from '@koa/router';
import { methodNotAllowed, routeNotFound } from '../contract/refusals.ts';
import { API_VERSIONS } from '../contract/versions.ts';
import type { State } from './state.ts';

/** Methods as a header lists them, each once. */
export function methodList(methods: readonly string[]): string {
  return [...new Set(methods)].toSorted().join(', ');
}

/** The value of `Allow` for a path with these methods. The service answers OPTIONS itself. */
export function allowHeader(methods: readonly string[]): string {
  return methodList([...methods, 'OPTIONS']);
}

/** Matches the paths of a route. */
export function pathPattern(route: string): RegExp {
  return new RegExp(`^${route.replaceAll(/:\w+/g, '[^/]+')}$`);
}

/**
 * Answers what no route has answered: 404, 405 or OPTIONS. `router.allowedMethods()` would answer 501 to an unknown
 * method, but RFC 9110, section 15.5.6, requires 405 on a known path, and it cannot set `Allow` when it throws.
 *
 * @param paths the patterns of all routes
 * @param methods those of all routes, for `OPTIONS *`: RFC 9110, section 9.3.7
 */
export function answerMethods(paths: readonly string[], methods: readonly string[]): RouterMiddleware<State> {
  return (ctx) => {
    const { path, method, matched = [] } = ctx;
    const allowed = path === '*' ? methods : matched.flatMap((layer) => layer.methods);
    if (allowed.length === 0) {
      const bare = path.replace(/\/$/, '');
      const near = [bare, ...API_VERSIONS.map((version) => version + bare)];
      throw routeNotFound(paths.find((route) => near.some((each) => pathPattern(route).test(each))));
    }
    const allow = allowHeader(allowed);
    if (method !== 'OPTIONS') throw methodNotAllowed(allow);
    ctx.set('Allow', allow);
    ctx.status = 204;
  };
}
