import type { Middleware } from 'koa';
import { pathPattern } from '../middleware/routes.ts';
import type { BaseUrl } from '../middleware/request-target.ts';
import type { State } from '../middleware/state.ts';
import { deprecationHeaders, deprecationLink } from '../contract/deprecation.ts';
import { createPet } from './create-pet.ts';
import { getPet } from './get-pet.ts';
import { listPets } from './list-pets.ts';
import type { Operation } from './operation.ts';

/** Every operation of the API. Routes, methods, announcements and the OpenAPI document are made from this list. */
export const OPERATIONS: readonly Operation[] = [listPets, createPet, getPet];

/**
 * Announces on every response of the path of a deprecated operation, whatever its status, that the operation is
 * deprecated. A response of another operation on that path announces nothing.
 */
export function announceDeprecations(operations: readonly Operation[], baseUrl: BaseUrl): Middleware<State> {
  const deprecated = operations.flatMap(({ name, route, deprecation }) => {
    if (deprecation === undefined) return [];
    const others = operations.filter((other) => other.route === route && other.deprecation === undefined);
    const methodsOfOthers = others.flatMap(({ methods }) => methods);
    return { name, headers: deprecationHeaders(deprecation), pattern: pathPattern(route), methodsOfOthers };
  });
  return (ctx, next) => {
    const { path, method } = ctx;
    const found = deprecated.find(
      ({ pattern, methodsOfOthers }) => pattern.test(path) && !methodsOfOthers.includes(method),
    );
    if (found !== undefined) {
      ctx.set({ ...found.headers, Link: deprecationLink(baseUrl(ctx.req), found.name) });
    }
    return next();
  };
}
