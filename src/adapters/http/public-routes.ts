import type Router from '@koa/router';
import type { ParameterizedContext } from 'koa';
import type { StorageProbe } from '../../application/ports/storage-health.ts';
import { petIdsWarning } from '../../domain/pet.ts';
import type { State } from './middleware/log-request.ts';
import { type DocsPage, FILE_NAMES, loadDocsPage, type PageFile } from './openapi/docs-page.ts';
import { openApiDocument } from './operations/document.ts';
import type { OperationDependencies } from './operations/operation.ts';
import { SHUTTING_DOWN } from './contract/refusals.ts';

type Dependencies = Pick<OperationDependencies, 'baseUrl' | 'basePath'> & {
  readonly probe: StorageProbe;
  readonly isDraining: () => boolean;
};

const OK = { status: 'ok' };

const PAGE_HEADERS = {
  // The page runs and loads only what this service serves. Swagger UI draws its icons from data URLs.
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

/** Adds the routes that need no API key: the health checks, the description of the API and its page. */
export function addPublicRoutes(
  router: Router<State>,
  { probe, isDraining, baseUrl, basePath }: Dependencies,
): void {
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

  router.get('/openapi.json', (ctx) => {
    ctx.body = openApiDocument(baseUrl(ctx.req));
  });

  /** Tells a program where everything is, and sends a person to the page. */
  router.get('/', (ctx) => {
    const base = baseUrl(ctx.req);
    varyBy(ctx, 'Accept');
    ctx.body = { api: `${base}/v1`, docs: `${base}/docs`, openapi: `${base}/openapi.json` };
    if (ctx.accepts('json', 'html') !== 'html') return;
    ctx.status = 302;
    ctx.state.headers['Location'] = `${basePath}/docs`;
  });

  /** Begun by the first request, and shared by all. If that fails, the next request tries again. */
  let docs: Promise<DocsPage> | undefined;
  const load = () => {
    docs ??= loadDocsPage();
    docs.catch(() => (docs = undefined));
    return docs;
  };

  router.get('/docs', async (ctx) => {
    const { page } = await load();
    Object.assign(ctx.state.headers, PAGE_HEADERS);
    sendFile(ctx, page);
  });

  for (const name of FILE_NAMES) {
    router.get(`/docs/${name}`, async (ctx) => {
      const file = (await load()).files[name];
      if (ctx.querystring === file.version) {
        ctx.state.headers['Cache-Control'] = 'public, max-age=31536000, immutable';
      }
      sendFile(ctx, file);
    });
  }
}

function sendFile(ctx: ParameterizedContext<State>, { type, bytes, gzipped }: PageFile): void {
  const { headers } = ctx.state;
  headers['Content-Type'] = type;
  varyBy(ctx, 'Accept-Encoding');
  const isGzipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  if (isGzipped) headers['Content-Encoding'] = 'gzip';
  ctx.body = isGzipped ? gzipped : bytes;
}

function varyBy({ state: { headers } }: ParameterizedContext<State>, name: string): void {
  headers['Vary'] = headers['Vary'] === undefined ? name : `${headers['Vary']}, ${name}`;
}
