import Router from '@koa/router';
import type { StorageProbe } from '../../../application/ports/storage-probe.ts';
import { sendJson } from '../wire/answer.ts';
import { RequestRefused, RETRY_AFTER } from '../wire/errors.ts';
import { openApiDocument } from '../openapi/document.ts';

const OK = '{"status":"ok"}';

export type SystemRoutes = {
  readonly probe: StorageProbe;
  readonly isDraining: () => boolean;
};

/** What needs no key: the description of the API, and the questions of whoever runs the service. */
export function systemRoutes({ probe, isDraining }: SystemRoutes): Router {
  const router = new Router({ strict: true, sensitive: true });

  let openApi: string | undefined;
  router.get('/openapi.json', (ctx) => sendJson(ctx, 200, (openApi ??= JSON.stringify(openApiDocument()))));

  /** The process is up. Never touches the storage: a restart would not mend it. */
  router.get('/livez', (ctx) => sendJson(ctx, 200, OK));

  router.get('/readyz', async (ctx) => {
    if (isDraining()) {
      throw new RequestRefused('UNAVAILABLE', 'the service is shutting down', { headers: RETRY_AFTER });
    }
    await probe.check();
    sendJson(ctx, 200, OK);
  });

  return router;
}
