import Router from '@koa/router';
import type { IncomingMessage } from 'node:http';
import type { StorageProbe } from '../../../application/ports/storage-health.ts';
import { petIdsWarning } from '../../../domain/pet.ts';
import type { State } from '../middleware/state.ts';
import { openApiDocument } from '../openapi/document.ts';
import { SHUTTING_DOWN } from '../wire/refusals.ts';

type Dependencies = {
  readonly probe: StorageProbe;
  readonly isDraining: () => boolean;
  readonly baseUrl: (request: IncomingMessage) => string;
};

const OK = { status: 'ok' };

/** The routes that need no API key: the description of the API, and the health checks. */
export function systemRoutes({ probe, isDraining, baseUrl }: Dependencies): Router<State> {
  const router = new Router<State>({ strict: true, sensitive: true });

  /** The document, as JSON, for the latest base that a request asked for. Nearly always there is only one. */
  let document: { readonly base: string; readonly json: string } | undefined;
  router.get('/openapi.json', (ctx) => {
    const base = baseUrl(ctx.req);
    if (document?.base !== base) document = { base, json: JSON.stringify(openApiDocument(base)) };
    ctx.body = document.json;
  });

  /** The process is up. Never touches the storage: restarting the process would not repair it. */
  router.get('/livez', (ctx) => {
    ctx.body = OK;
  });

  router.get('/readyz', async (ctx) => {
    if (isDraining()) throw SHUTTING_DOWN;
    const { lastId } = await probe.check();
    const warning = petIdsWarning(lastId);
    // Still ready: reads work, and no other instance has more ids.
    ctx.body = warning === undefined ? OK : { ...OK, warnings: [warning] };
  });

  return router;
}
