import Router from '@koa/router';
import type { Middleware } from 'koa';
import type { IncomingMessage } from 'node:http';
import { DamagedPet } from '../../../application/pets/errors.ts';
import type { CreatePet } from '../../../application/pets/create-pet.ts';
import type { GetPet } from '../../../application/pets/get-pet.ts';
import type { ListPets } from '../../../application/pets/list-pets.ts';
import type { Scope } from '../../../domain/api-key.ts';
import { petJson } from '../../json/pet-json.ts';
import { jsonObject, readBody, requireJson } from '../middleware/body.ts';
import { goneAfterSunset } from '../middleware/deprecation.ts';
import type { State } from '../middleware/state.ts';
import type { RequestLog } from '../wire/request-log.ts';
import { decodeCursor, encodeCursor } from '../wire/cursor.ts';
import { DEPRECATED_ROUTE, isSunset } from '../wire/deprecation.ts';
import { idempotencyKey } from '../wire/idempotency.ts';
import { queryParser } from '../wire/query.ts';
import { insufficientScope } from '../wire/refusals.ts';
import { NewPet, NoQuery, PageQuery, PetId, parse } from '../wire/schemas.ts';

type Dependencies = {
  readonly listPets: Pick<ListPets, 'execute'>;
  readonly createPet: Pick<CreatePet, 'execute'>;
  readonly getPet: Pick<GetPet, 'execute'>;
  readonly authenticate: Middleware<State>;
  readonly baseUrl: (request: IncomingMessage) => string;
  /** The path of `PUBLIC_URL`, without a trailing slash. Empty if it has none. */
  readonly basePath: string;
  readonly now: () => Date;
  readonly log: Pick<RequestLog, 'petCreated'>;
};

/** The routes under `/v1/pets`. Paths are case-sensitive and have no trailing slash. */
export function petsRoutes(dependencies: Dependencies): Router<State> {
  const { listPets, createPet, getPet, authenticate, baseUrl, basePath, now, log } = dependencies;
  const router = new Router<State>({ strict: true, sensitive: true });
  const pageQuery = queryParser(PageQuery);

  router.get('/v1/pets', requireScope('pets:read'), async (ctx) => {
    const { limit, status, cursor } = pageQuery(ctx.querystring);
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    const linkNext = (id: bigint) => {
      const filter = status === undefined ? '' : `&status=${status}`;
      const next = encodeCursor(id);
      const url = `${baseUrl(ctx.req)}/v1/pets?limit=${limit}${filter}&cursor=${next}`;
      ctx.state.headers['Link'] = `<${url}>; rel="next"`;
      ctx.state.headers['Next-Cursor'] = next;
    };
    try {
      const { pets, next } = await listPets.execute({ limit, status, after });
      if (next !== undefined) linkNext(next);
      ctx.body = pets.map(petJson);
    } catch (error) {
      // The link must point forwards. Otherwise a client that follows it would loop for ever.
      if (error instanceof DamagedPet && (after === undefined || error.id > after)) linkNext(error.id);
      throw error;
    }
  });

  // Authenticates again after waiting for a body, which may take longer to arrive than a revocation takes to apply.
  const body = [requireJson, refuseQuery, readBody(authenticate)] as const;
  router.post('/v1/pets', requireScope('pets:write'), ...body, async (ctx) => {
    const { headers, requestId } = ctx.state;
    const caller = ctx.state.caller!;
    const draft = parse(NewPet, jsonObject(ctx.request.body), 'body');
    const key = idempotencyKey(ctx.req.headers['idempotency-key'], caller.originId ?? caller.id);
    const { pet, replayed } = await createPet.execute(draft, key);
    // Logged before the answer: the pet exists even if the client never learns of it.
    log.petCreated({ requestId, petId: pet.id, keyId: caller.id, keyLabel: caller.label, replayed });
    if (!isSunset(now())) headers['Location'] = `${basePath}/v1/pets/${pet.id}`;
    if (replayed) headers['Idempotent-Replayed'] = 'true';
    ctx.status = 201;
    ctx.body = petJson(pet);
  });

  const readOne = [requireScope('pets:read'), goneAfterSunset(now), refuseQuery] as const;
  router.get(DEPRECATED_ROUTE, ...readOne, async (ctx) => {
    const pet = await getPet.execute(parse(PetId, ctx.params['petId'], 'petId'));
    ctx.body = petJson(pet);
  });

  return router;
}

const parseNoQuery = queryParser(NoQuery);

/** Refuses query parameters, for an operation that has none. */
const refuseQuery: Middleware = (ctx, next) => {
  parseNoQuery(ctx.querystring);
  return next();
};

/** Refuses API keys without this scope. Must run after `authenticate`. */
function requireScope(scope: Scope): Middleware<State> {
  return (ctx, next) => {
    if (!ctx.state.caller!.scopes.includes(scope)) throw insufficientScope(scope);
    return next();
  };
}
