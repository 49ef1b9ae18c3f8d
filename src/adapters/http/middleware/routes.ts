import type { RouterMiddleware } from '@koa/router';
import { methodNotAllowed, routeNotFound } from '../contract/refusals.ts';
import { API_VERSIONS } from '../contract/versions.ts';
import type { State } from './state.ts';

export function methodList(methods: readonly string[]): string {
  return [...new Set(methods)].toSorted().join(', ');
}

/** Every path also allows OPTIONS: see {@link answerNoRoute}. */
export function allowHeader(methods: readonly string[]): string {
  return methodList([...methods, 'OPTIONS']);
}

export function pathPattern(route: string): RegExp {
  return new RegExp(`^${route.replaceAll(/:\w+/g, '[^/]+')}$`);
}

/**
 * Answers requests that no route has answered: OPTIONS with 204, others with 404 or 405. docs/decisions.md has the
 * reason against `router.allowedMethods()`.
 *
 * @param paths the paths of all routes, such as `/v1/pets/:petId`
 * @param methods the methods of all routes, for `OPTIONS *`: RFC 9110, section 9.3.7
 */
export function answerNoRoute(paths: readonly string[], methods: readonly string[]): RouterMiddleware<State> {
  return (ctx) => {
    const { path, method, matched = [] } = ctx;
    const allowed = path === '*' ? methods : matched.flatMap((layer) => layer.methods);
    if (allowed.length === 0) {
      const withoutSlash = path.replace(/\/$/, '');
      const candidates = [withoutSlash, ...API_VERSIONS.map((version) => version + withoutSlash)];
      throw routeNotFound(paths.find((route) => candidates.some((each) => pathPattern(route).test(each))));
    }
    const allow = allowHeader(allowed);
    if (method !== 'OPTIONS') throw methodNotAllowed(allow);
    ctx.set('Allow', allow);
    ctx.status = 204;
  };
}
