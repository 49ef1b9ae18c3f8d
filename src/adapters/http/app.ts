import Koa from 'koa';
import type { TokenVerifier } from '../../application/ports/token-verifier.ts';
import { answerErrors, frame, type State } from './answer.ts';
import { authenticate } from './authenticate.ts';
import { announceDeprecation } from './deprecation.ts';
import { noRoute } from './no-route.ts';
import { type PetsRoutes, petsRoutes } from './pets-routes.ts';
import type { RequestLog } from './request-log.ts';
import { baseUrl, checkTarget } from './request-target.ts';
import { type SystemRoutes, systemRoutes } from './system-routes.ts';

export type AppDependencies = Omit<PetsRoutes, 'baseUrl'> &
  SystemRoutes & {
    readonly tokens: TokenVerifier;
    readonly log: RequestLog;
    /** The base of absolute URLs, without a slash at the end; without it the request tells. */
    readonly publicUrl: string | undefined;
  };

/** The HTTP API as a Koa application. The order of its middleware is the order in which a request is judged. */
export function createApp(dependencies: AppDependencies): Koa<State> {
  const { tokens, log, publicUrl } = dependencies;
  const base = baseUrl(publicUrl);
  const app = new Koa<State>();
  app.use(frame(log));
  app.use(answerErrors(log));
  app.use(checkTarget);
  app.use(announceDeprecation(base));
  app.use(authenticate(tokens));
  app.use(petsRoutes({ ...dependencies, baseUrl: base }).routes());
  app.use(systemRoutes(dependencies).routes());
  app.use(noRoute);
  // What reaches Koa's own handler is a failing socket: that the client is gone is in the request's record.
  app.on('error', (error: Error, ctx?: Koa.ParameterizedContext<State>) => {
    if (!('syscall' in error)) log.failed(error, ctx?.state.requestId);
  });
  return app;
}
