import type { RequestListener } from 'node:http';
import Koa from 'koa';
import compose from 'koa-compose';
import type { TokenVerifier } from '../../application/ports/token-verifier.ts';
import { answerErrors, frame, type State } from './wire/answer.ts';
import { authenticate } from './middleware/authenticate.ts';
import { allowOrigins, answerPreflight } from './middleware/cors.ts';
import { announceDeprecation } from './middleware/deprecation.ts';
import { limitRate, type RateLimiting } from './middleware/limit-rate.ts';
import { noRoute } from './routes/no-route.ts';
import { type PetsRoutes, petsRoutes } from './routes/pets.ts';
import type { RequestLog } from './request-log.ts';
import { baseUrl, checkForwarded, checkLength, checkTarget } from './middleware/request-target.ts';
import { type SystemRoutes, systemRoutes } from './routes/system.ts';

export type AppDependencies = Omit<PetsRoutes, 'authenticate' | 'baseUrl'> &
  SystemRoutes &
  RateLimiting & {
    readonly tokens: TokenVerifier;
    readonly log: RequestLog;
    /** The base of absolute URLs, without a slash at the end; without it the request tells, or the proxy. */
    readonly publicUrl: string | undefined;
    /** Whether a proxy in front of the service sets `X-Forwarded-Proto` and `X-Forwarded-Host`. */
    readonly trustProxy: boolean;
    /** The origins whose pages may use the API, each exactly as a browser sends it; none turns CORS off. */
    readonly corsOrigins: readonly string[];
  };

/** The HTTP API as a Koa application. The order of its middleware is the order in which a request is judged. */
export function createApp(dependencies: AppDependencies): RequestListener {
  const { tokens, log, publicUrl, trustProxy, corsOrigins } = dependencies;
  const base = baseUrl(publicUrl, trustProxy);
  const authenticated = authenticate(tokens);
  const app = new Koa<State>();
  // The router asks for it, and Koa would take it apart; checkTarget has looked it over.
  Object.defineProperty(app.request, 'host', {
    get(this: Koa.Request) {
      return this.req.headers.host ?? '';
    },
  });
  app.use(frame(log));
  app.use(answerErrors(log));
  if (corsOrigins.length > 0) app.use(allowOrigins(corsOrigins));
  app.use(checkTarget);
  if (trustProxy && publicUrl === undefined) app.use(checkForwarded);
  app.use(announceDeprecation(base));
  app.use(checkLength);
  if (corsOrigins.length > 0) app.use(answerPreflight(corsOrigins));
  app.use(authenticated);
  app.use(limitRate(dependencies, log));
  app.use(petsRoutes({ ...dependencies, authenticate: authenticated, baseUrl: base }).routes());
  app.use(systemRoutes(dependencies).routes());
  app.use(noRoute);
  return listener(app, log);
}

/**
 * What `app.callback()` does, less its last step: sending `ctx.body` and watching the socket. Here sendJson has
 * sent the answer and `frame` has the socket's end in its record; doing it twice would cost 8 % of a request.
 */
function listener(app: Koa<State>, log: RequestLog): RequestListener {
  const handle = compose(app.middleware);
  return (request, response) => {
    const ctx = app.createContext<State>(request, response);
    handle(ctx).catch((error: unknown) => {
      // Only answering itself can have failed, so that there is no answer to be had.
      log.failed(error, ctx.state.requestId);
      response.destroy();
    });
  };
}
