import Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import { DamagedPet } from '../../../application/pets/errors.ts';
import type { CreatePet } from '../../../application/pets/create-pet.ts';
import type { GetPet } from '../../../application/pets/get-pet.ts';
import type { ListPets, PetPage } from '../../../application/pets/list-pets.ts';
import { sendJson, type State } from '../wire/answer.ts';
import { jsonBody, readBody, requireJson } from '../middleware/body.ts';
import { decodeCursor, encodeCursor } from '../wire/cursor.ts';
import { goneAfterSunset, isSunset } from '../middleware/deprecation.ts';
import { idempotency } from '../wire/idempotency.ts';
import { petJson, petsJson } from '../../json/pet-json.ts';
import { queryParser } from '../wire/query.ts';
import type { RequestLog } from '../request-log.ts';
import { requireScope } from '../middleware/require-scope.ts';
import { NewPet, NoQuery, PageQuery, PetId, parse } from '../wire/schemas.ts';

export type PetsRoutes = {
  readonly listPets: ListPets;
  readonly createPet: CreatePet;
  readonly getPet: GetPet;
  /** Lets nobody pass without a valid key. */
  readonly authenticate: Middleware<State>;
  readonly baseUrl: (ctx: Context) => string;
  readonly now: () => Date;
  readonly log: Pick<RequestLog, 'petCreated'>;
};

/** One canonical path each: case-sensitive, no trailing slash. */
export function petsRoutes(dependencies: PetsRoutes): Router<State> {
  const { listPets, createPet, getPet, authenticate, baseUrl, now, log } = dependencies;
  const router = new Router<State>({ strict: true, sensitive: true });
  const pageQuery = queryParser(PageQuery);
  const noQuery = queryParser(NoQuery);

  router.get('/v1/pets', requireScope('pets:read'), async (ctx) => {
    const { limit, status, cursor } = pageQuery(ctx.querystring);
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    const goOnAfter = (id: bigint) => {
      const filter = status === undefined ? '' : `&status=${status}`;
      const url = `${baseUrl(ctx)}/v1/pets?limit=${limit}${filter}&cursor=${encodeCursor(id)}`;
      ctx.state.headers.push('Link', `<${url}>; rel="next"`);
    };
    try {
      const { pets, next }: PetPage = await listPets.execute({ limit, status, after });
      if (next !== undefined) goOnAfter(next);
      sendJson(ctx, 200, petsJson(pets));
    } catch (error) {
      // Only ever forwards, or a client that follows would go round in circles.
      if (error instanceof DamagedPet && error.id > (after ?? 0n)) goOnAfter(error.id);
      throw error;
    }
  });

  // The key again, because a body may take longer to come than a revocation to be in force.
  const body = [requireJson, readBody, authenticate] as const;
  router.post('/v1/pets', requireScope('pets:write'), ...body, async (ctx) => {
    noQuery(ctx.querystring);
    const draft = parse(NewPet, jsonBody(ctx), 'body');
    const { pet, replayed } = await createPet.execute(draft, idempotency(ctx, draft));
    const { requestId, caller } = ctx.state;
    // Before the answer: the pet is there, whether the client gets to know of it or not.
    log.petCreated({ requestId, petId: pet.id, keyId: caller!.id, keyLabel: caller!.label, replayed });
    if (!isSunset(now())) ctx.state.headers.push('Location', `/v1/pets/${pet.id}`);
    if (replayed) ctx.state.headers.push('Idempotent-Replayed', 'true');
    sendJson(ctx, 201, petJson(pet));
  });

  router.get('/v1/pets/:petId', requireScope('pets:read'), goneAfterSunset(now), async (ctx) => {
    noQuery(ctx.querystring);
    const pet = await getPet.execute(parse(PetId, ctx.params['petId'], 'petId'));
    sendJson(ctx, 200, petJson(pet));
  });

  return router;
}
