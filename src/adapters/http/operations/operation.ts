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
  /** The path of `PUBLIC_URL`, without a trailing slash. Empty if it has none. */
  readonly basePath: string;
  /** The clock that decides whether an operation has reached its sunset. */
  readonly now: () => Date;
  readonly log: Pick<RequestLog, 'petCreated'>;
};

type Context = RouterContext<State>;
type QuerySchema = GenericSchema & { readonly entries: ObjectEntries };
type BodySchema = GenericSchema | undefined;

/** What is particular to an operation. */
type Definition<Query extends QuerySchema, Body extends BodySchema> = {
  /** `operationId` in the OpenAPI document. */
  readonly name: string;
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly version: ApiVersion;
  /** Below the version, as in the OpenAPI document: `/pets/{petId}`. */
  readonly path: string;
  readonly scope: Scope;
  readonly deprecation?: Deprecation;
  /** Absent from an operation without query parameters, which refuses any. */
  readonly query?: Query;
  /** Absent from an operation that ignores a body. */
  readonly body?: Body;
  /** Parses headers into the state, before the body is read. Throws what they alone decide. */
  readonly readHeaders?: (ctx: Context) => void;
  readonly summary: string;
  readonly description: string;
  /**
   * What the OpenAPI document says besides, made on first use.
   *
   * @param headers those of every answer after the checks: the rate limit, and what announces the deprecation
   */
  readonly documentation: (headers: ResponseHeaders) => {
    /** Parameters outside of the query. */
    readonly parameters?: readonly JsonObject[];
    /** The content of the body: its schema and examples. */
    readonly requestBody?: JsonObject;
    /** Responses that only this operation gives, by status. */
    readonly responses: JsonObject;
  };
  /** Gives the answer to a request that was allowed and whose query and body are valid. */
  readonly handler: (
    dependencies: OperationDependencies,
  ) => (
    ctx: Context,
    query: InferOutput<Query>,
    body: Body extends GenericSchema ? InferOutput<Body> : undefined,
  ) => Promise<void>;
};

/** An operation, as seen by what is made from the list of all operations. */
export type Operation = Omit<Definition<QuerySchema, BodySchema>, 'handler'> & {
  /** The methods of HTTP that it answers. */
  readonly methods: readonly string[];
  /** The pattern of the router. */
  readonly route: string;
  /** @returns the middleware that answers requests of its method and path */
  readonly answer: (dependencies: OperationDependencies) => readonly RouterMiddleware<State>[];
};

/** The order of the checks is the same for every operation. */
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
