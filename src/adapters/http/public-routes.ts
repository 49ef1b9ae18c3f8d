import { Readable } from 'node:stream';
import type { Router, RouterMiddleware } from '@koa/router';
import type { ParameterizedContext } from 'koa';
import type { StorageProbe } from '../../application/ports/storage-health.ts';
import { petIdsWarning } from '../../domain/pet.ts';
import type { State } from './middleware/state.ts';
import { type DocsPage, FILE_NAMES, loadDocsPage, type PageFile } from './openapi/docs-page.ts';
import { openApiDocument } from './operations/document.ts';
import type { OperationDependencies } from './operations/operation.ts';
import { SHUTTING_DOWN } from './contract/refusals.ts';
import { V1 } from './contract/versions.ts';

type Dependencies = Pick<OperationDependencies, 'baseUrl' | 'basePath'> & {
  readonly probe: StorageProbe;
  readonly isDraining: () => boolean;
};

const OK = '{"status":"ok"}';

const PAGE_HEADERS = {
  // The page loads only files of this service. Swagger UI draws its icons from data URLs.
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

export function addPublicRoutes(router: Router<State>, dependencies: Dependencies): readonly string[] {
  const { probe, isDraining, baseUrl, basePath } = dependencies;
  /** After a failed load, the next request loads the page again. */
  let docs: Promise<DocsPage> | undefined;
  const loadDocs = () => {
    docs ??= loadDocsPage();
    docs.catch(() => (docs = undefined));
    return docs;
  };

  const routes: Record<string, RouterMiddleware<State>> = {
    /** Does not check the storage, because the restart that follows a failed check would not repair a storage. */
    '/livez': (ctx) => void (ctx.body = OK),

    '/readyz': async (ctx) => {
      if (isDraining()) throw SHUTTING_DOWN;
      const { lastId } = await probe.check();
      const warning = petIdsWarning(lastId);
      // Few ids are no failure: reads work, and no other instance has more ids.
      ctx.body = warning === undefined ? OK : JSON.stringify({ status: 'ok', warnings: [warning] });
    },

    '/openapi.json': (ctx) => void (ctx.body = JSON.stringify(openApiDocument(baseUrl(ctx.req)))),

    '/': (ctx) => {
      const base = baseUrl(ctx.req);
      ctx.vary('Accept');
      ctx.body = JSON.stringify({ api: base + V1, docs: `${base}/docs`, openapi: `${base}/openapi.json` });
      if (ctx.accepts('json', 'html') !== 'html') return;
      ctx.status = 302;
      ctx.set('Location', `${basePath}/docs`);
    },

    '/docs': async (ctx) => {
      const { page } = await loadDocs();
      ctx.set(PAGE_HEADERS);
      sendFile(ctx, page);
    },
  };
  for (const name of FILE_NAMES) {
    routes[`/docs/${name}`] = async (ctx) => {
      const file = (await loadDocs()).files[name];
      if (ctx.querystring === file.version) ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
      sendFile(ctx, file);
    };
  }
  for (const [path, answer] of Object.entries(routes)) router.get(path, answer);
  return Object.keys(routes);
}

/** Small, because a TLS socket keeps the memory of its largest write until the socket closes. */
const PORTION_BYTES = 16 * 1024;

function sendFile(ctx: ParameterizedContext<State>, { type, bytes, gzipped }: PageFile): void {
  ctx.vary('Accept-Encoding');
  const isGzipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  const content = isGzipped ? gzipped : bytes;
  if (isGzipped) ctx.set('Content-Encoding', 'gzip');
  ctx.type = type;
  ctx.length = content.length;
  // Koa's pipeline adds nine listeners of `close`. Node warns of a leak beyond ten listeners.
  ctx.res.setMaxListeners(20);
  ctx.body = Readable.from(portions(content), { objectMode: false });
}

function* portions(bytes: Buffer): Iterable<Buffer> {
  for (let at = 0; at < bytes.length; at += PORTION_BYTES) yield bytes.subarray(at, at + PORTION_BYTES);
}
