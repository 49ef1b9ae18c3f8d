import type { Middleware } from 'koa';
import { pathPattern } from '../middleware/routes.ts';
import type { BaseUrl } from '../middleware/request-target.ts';
import type { State } from '../middleware/state.ts';
import { deprecationHeaders, deprecationLink } from '../contract/deprecation.ts';
import { createPet } from './create-pet.ts';
import { getPet } from './get-pet.ts';
import { listPets } from './list-pets.ts';
import type { Operation } from './operation.ts';

/** Routes, methods, announced deprecations and the OpenAPI document are made from this list. */
export const OPERATIONS: readonly Operation[] = [listPets, createPet, getPet];

/**
 * Announces the deprecation in every response on the path of a deprecated operation, errors included. Responses of
 * another operation with the same path announce nothing.
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
    const match = deprecated.find(
      ({ pattern, methodsOfOthers }) => pattern.test(path) && !methodsOfOthers.includes(method),
    );
    if (match !== undefined) {
      ctx.set({ ...match.headers, Link: deprecationLink(baseUrl(ctx.req), match.name) });
    }
    return next();
  };
}
