import type { RequestListener } from 'node:http';
import Router, { type RouterContext } from '@koa/router';
import Koa from 'koa';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { StorageProbe } from '../../application/ports/storage-health.ts';
import type { TokenVerifier } from '../../application/ports/token-verifier.ts';
import type { RateLimit } from '../../domain/rate-limit.ts';
import { answerErrors } from './middleware/answer-errors.ts';
import { authenticate, limitRate } from './middleware/api-key.ts';
import { allowOrigins, answerPreflight } from './middleware/cors.ts';
import { logRequest } from './middleware/log-request.ts';
import type { State } from './middleware/state.ts';
import { answerNoRoute } from './middleware/routes.ts';
import {
  baseUrl,
  checkForwardedOrigin,
  checkUrlLength,
  checkTarget,
  reportInvalidAddress,
} from './middleware/request-target.ts';
import { setStrictTransport } from './middleware/strict-transport.ts';
import type { OperationDependencies } from './operations/operation.ts';
import { announceDeprecations, OPERATIONS } from './operations/operations.ts';
import { addPublicRoutes } from './public-routes.ts';
import type { RequestLog } from './contract/request-log.ts';

export type AppDependencies = Omit<OperationDependencies, 'authenticate' | 'baseUrl' | 'basePath'> & {
  readonly tokens: TokenVerifier;
  readonly limiter: RateLimiter;
  /** The limit of an API key that has no limit of its own. `undefined`: no limit. */
  readonly rateLimit: RateLimit | undefined;
  readonly probe: StorageProbe;
  readonly isDraining: () => boolean;
  readonly log: RequestLog;
  /** The base of the URLs in answers, without a trailing slash. `undefined`: taken from each request. */
  readonly publicUrl: string | undefined;
  /** Whether a proxy sets `X-Forwarded-Proto`, `X-Forwarded-Host` and `X-Forwarded-For`. */
  readonly trustProxy: boolean;
  /** Web pages of these origins, written as in the `Origin` header, may use the API. Empty: CORS is off. */
  readonly corsOrigins: readonly string[];
};

/** Paths are case-sensitive and have no trailing slash. */
const ROUTER_OPTIONS = { strict: true, sensitive: true };

/** The order of the middleware is the order of the checks. */
export function createApp(dependencies: AppDependencies): RequestListener {
  const { tokens, limiter, rateLimit, log, publicUrl, trustProxy, corsOrigins } = dependencies;
  const base = baseUrl(publicUrl, trustProxy);
  const urls = { baseUrl: base, basePath: URL.parse(publicUrl ?? '')?.pathname.replace(/\/$/, '') ?? '' };
  const authentication = authenticate(tokens);
  const operations = new Router<State>(ROUTER_OPTIONS);
  for (const { method, route, answer } of OPERATIONS) {
    operations[method](route, ...answer({ ...dependencies, ...urls, authenticate: authentication }));
  }
  const publicRouter = new Router<State>(ROUTER_OPTIONS);
  const publicPaths = addPublicRoutes(publicRouter, { ...dependencies, ...urls });

  const hasCors = corsOrigins.length > 0;
  const methods = OPERATIONS.flatMap((operation) => operation.methods);
  const app = newApp(log, trustProxy).use(setStrictTransport(base));
  if (trustProxy) app.use(reportInvalidAddress(log));
  if (hasCors) app.use(allowOrigins(corsOrigins));
  app.use(checkTarget);
  if (trustProxy && publicUrl === undefined) app.use(checkForwardedOrigin);
  app.use(announceDeprecations(OPERATIONS, base)).use(checkUrlLength);
  if (hasCors) app.use(answerPreflight(corsOrigins, methods));
  app.use(authentication).use(limitRate(limiter, rateLimit, log));
  // A router compares each request with all of its routes, so the operations have a small router of their own.
  app.use(operations.routes()).use(publicRouter.routes());
  const paths = [...OPERATIONS.map(({ route }) => route), ...publicPaths];
  return listenerOf(app.use(answerNoRoute(paths, methods)));
}

function listenerOf(app: Pick<Koa, 'callback'>): RequestListener {
  const handle = app.callback();
  return (request, response) => void handle(request, response);
}

function newApp(log: RequestLog, trustProxy: boolean): Koa<State> {
  const app = new Koa<State>();
  app.on('error', (error: Error, { req, state }: RouterContext<State>) => {
    // Koa also emits this event when a client disconnects, which is no failure.
    if (!req.socket.destroyed) log.failed(error, state.requestId);
  });
  app.use(logRequest(log, trustProxy));
  app.use(answerErrors(log, trustProxy));
  return app;
}

/** https://prometheus.io/docs/instrumenting/exposition_formats/ */
const METRICS_MEDIA_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Serves `/metrics` without authentication: use a port that only operators can reach. */
export function createMetricsApp(metricsText: () => Promise<string>, log: RequestLog): RequestListener {
  const router = new Router<State>(ROUTER_OPTIONS);
  router.get('/metrics', async (ctx) => {
    ctx.body = await metricsText();
    ctx.type = METRICS_MEDIA_TYPE;
  });
  const app = newApp(log, false).use(checkTarget).use(checkUrlLength).use(router.routes());
  return listenerOf(app.use(answerNoRoute(['/metrics'], ['GET', 'HEAD'])));
}
