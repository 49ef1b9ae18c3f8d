import type { Middleware } from 'koa';
import type { State } from '../middleware/log-request.ts';
import type { BaseUrl } from '../middleware/request-target.ts';
import { deprecationHeaders } from '../contract/answer-headers.ts';
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
  const deprecated = operations.flatMap(({ name, path, deprecation }) => {
    if (deprecation === undefined) return [];
    const others = operations.filter((other) => other.path === path && other.deprecation === undefined);
    const pattern = new RegExp(`^/v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    const methods = others.flatMap((other) => other.methods);
    return { name, pattern, methodsOfOthers: methods, headers: deprecationHeaders(deprecation) };
  });
  return (ctx, next) => {
    const { path, method } = ctx;
    const found = deprecated.find((it) => it.pattern.test(path) && !it.methodsOfOthers.includes(method));
    if (found !== undefined) {
      const Link = `<${baseUrl(ctx.req)}/docs#${found.name}>; rel="deprecation"; type="text/html"`;
      ctx.set({ ...found.headers, Link });
    }
    return next();
  };
}
