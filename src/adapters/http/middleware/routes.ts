import type { RouterMiddleware } from '@koa/router';
import { allowHeader, methodNotAllowed, routeNotFound } from '../contract/refusals.ts';
import type { State } from './log-request.ts';

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
    const known = path === '*' ? methods : matched.flatMap((layer) => layer.methods);
    if (known.length === 0) {
      const bare = path.replace(/\/$/, '');
      throw routeNotFound(paths.find((pattern) => matches(pattern, bare) || matches(pattern, `/v1${bare}`)));
    }
    const allow = allowHeader(known);
    if (method !== 'OPTIONS') throw methodNotAllowed(allow);
    ctx.set('Allow', allow);
    ctx.status = 204;
  };
}

function matches(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replaceAll(/:\w+/g, '[^/]+')}$`).test(path);
}
