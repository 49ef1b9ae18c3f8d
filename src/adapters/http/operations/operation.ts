import type { RouterContext, RouterMiddleware } from '@koa/router';
import type { Middleware } from 'koa';
import type { GenericSchema, InferOutput, ObjectEntries } from 'valibot';
import type { CreatePet } from '../../../application/pets/create-pet.ts';
import type { GetPet } from '../../../application/pets/get-pet.ts';
import type { ListPets } from '../../../application/pets/list-pets.ts';
import type { Scope } from '../../../domain/api-key.ts';
import { jsonObject, readBody, requireJson } from '../middleware/body.ts';
import type { State } from '../middleware/state.ts';
import type { BaseUrl } from '../middleware/request-target.ts';
import type { ResponseHeaders } from '../openapi/headers.ts';
import type { JsonObject } from '../openapi/schemas.ts';
import { type Deprecation, isSunset } from '../contract/deprecation.ts';
import { parse } from '../contract/parse.ts';
import { NoQuery, queryParser } from '../contract/query.ts';
import { gone, insufficientScope } from '../contract/refusals.ts';
import type { RequestLog } from '../contract/request-log.ts';
import type { ApiVersion } from '../contract/versions.ts';

export type OperationDependencies = {
  readonly listPets: Pick<ListPets, 'execute'>;
  readonly createPet: Pick<CreatePet, 'execute'>;
  readonly getPet: Pick<GetPet, 'execute'>;
  readonly authenticate: Middleware<State>;
  readonly baseUrl: BaseUrl;
  /** The path of `PUBLIC_URL`, without a trailing slash, or empty. */
  readonly basePath: string;
  /** The clock for the sunset of an operation. */
  readonly now: () => Date;
  readonly log: Pick<RequestLog, 'petCreated'>;
};

type Context = RouterContext<State>;
type QuerySchema = GenericSchema & { readonly entries: ObjectEntries };
type BodySchema = GenericSchema | undefined;

type Definition<Query extends QuerySchema, Body extends BodySchema> = {
  /** The `operationId` of OpenAPI. */
  readonly name: string;
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly version: ApiVersion;
  /** The path below the version, such as `/pets/{petId}`. */
  readonly path: string;
  readonly scope: Scope;
  readonly deprecation?: Deprecation;
  /** If absent, the operation refuses every query parameter. */
  readonly query?: Query;
  /** If absent, the operation ignores a body. */
  readonly body?: Body;
  /** Parses headers into `ctx.state` before the body is read. Throws a refusal of an invalid header. */
  readonly readHeaders?: (ctx: Context) => void;
  readonly summary: string;
  readonly description: string;
  /** @param headers the headers of rate limit and deprecation, for every answer after the checks */
  readonly documentation: (headers: ResponseHeaders) => {
    /** Path and header parameters. */
    readonly parameters?: readonly JsonObject[];
    readonly requestBody?: JsonObject;
    /** The operation's own responses, by status. */
    readonly responses: JsonObject;
  };
  /** Answers an allowed request with a valid query and body. */
  readonly handler: (
    dependencies: OperationDependencies,
  ) => (
    ctx: Context,
    query: InferOutput<Query>,
    body: Body extends GenericSchema ? InferOutput<Body> : undefined,
  ) => Promise<void>;
};

export type Operation = Omit<Definition<QuerySchema, BodySchema>, 'handler'> & {
  readonly methods: readonly string[];
  readonly route: string;
  readonly answer: (dependencies: OperationDependencies) => readonly RouterMiddleware<State>[];
};

export function operation<Query extends QuerySchema = typeof NoQuery, Body extends BodySchema = undefined>(
  definition: Definition<Query, Body>,
): Operation {
  const { method, version, path, scope, deprecation, query, body, readHeaders, handler } = definition;
  const parseQuery = queryParser(query ?? NoQuery);
  type ParsedBody = Parameters<ReturnType<typeof handler>>[2];
  return {
    ...definition,
    methods: method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()],
    route: version + path.replaceAll(/\{(\w+)\}/g, ':$1'),
    answer(dependencies) {
      const { authenticate, now } = dependencies;
      const handle = handler(dependencies);
      const check: RouterMiddleware<State> = (ctx, next) => {
        if (!ctx.state.caller!.scopes.includes(scope)) throw insufficientScope(scope);
        if (deprecation !== undefined && isSunset(deprecation, now())) throw gone(deprecation);
        if (body !== undefined) requireJson(ctx.req);
        ctx.state.query = parseQuery(ctx.querystring);
        readHeaders?.(ctx);
        return next();
      };
      const answer: RouterMiddleware<State> = (ctx) => {
        const parsedBody = body && parse(body, jsonObject(ctx), 'body');
        return handle(ctx, ctx.state.query, parsedBody as ParsedBody);
      };
      return body === undefined ? [check, answer] : [check, ...readBody(authenticate), answer];
    },
  };
}
