import type { IncomingMessage } from 'node:http';
import type Router from '@koa/router';
import type { Middleware } from 'koa';
import type { State } from '../middleware/log-request.ts';
import { deprecationHeaders } from '../wire/answer-headers.ts';
import { createPet } from './create-pet.ts';
import { getPet } from './get-pet.ts';
import { listPets } from './list-pets.ts';
import type { Operation, OperationDependencies } from './operation.ts';

/** Every operation of the API. Routes, methods, announcements and the OpenAPI document are made from this list. */
export const OPERATIONS: readonly Operation[] = [listPets, createPet, getPet];

/** Adds a route for each operation. */
export function addOperations(router: Router<State>, dependencies: OperationDependencies): void {
  for (const { name, method, route, answer } of OPERATIONS) router[method](name, route, answer(dependencies));
}

/**
 * Announces on every response of the path of a deprecated operation, whatever its status, that the operation is
 * deprecated. A response of another operation on that path announces nothing.
 *
 * @param router has a route for each of these operations
 */
export function announceDeprecations(
  router: Router<State>,
  operations: readonly Operation[],
  baseUrl: (request: IncomingMessage) => string,
): Middleware<State> {
  const announcements = operations.flatMap(({ name, path, deprecation }) => {
    const layer = router.route(name);
    if (deprecation === undefined || layer === false) return [];
    const others = operations.filter((other) => other.path === path && other.deprecation === undefined);
    return {
      path: layer.regexp,
      others: others.flatMap(({ methods }) => methods),
      headers: deprecationHeaders(deprecation),
      fragment: name,
    };
  });
  return (ctx, next) => {
    const found = announcements.find(
      ({ path, others }) => path.test(ctx.path) && !others.includes(ctx.method),
    );
    if (found !== undefined) {
      const link = `<${baseUrl(ctx.req)}/docs#${found.fragment}>; rel="deprecation"; type="text/html"`;
      Object.assign(ctx.state.headers, found.headers, { Link: link });
    }
    return next();
  };
}
