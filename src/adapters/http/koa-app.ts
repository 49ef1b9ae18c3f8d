import type { RequestListener } from 'node:http';
import Koa, { type Middleware } from 'koa';
import compose from 'koa-compose';
import type { State } from './middleware/state.ts';
import { writeAnswer } from './middleware/write-answer.ts';
import { requestIdOf } from './wire/request-id.ts';
import type { RequestLog } from './wire/request-log.ts';

/**
 * A Koa application that identifies and logs every request and writes every answer.
 *
 * It bypasses Koa in two places, to save CPU time.
 */
export function koaApp(log: RequestLog): Koa<State> {
  const app = new Koa<State>();
  // Koa's setter derives status, media type and length from the body. writeAnswer knows them already.
  Object.defineProperty(app.response, 'body', { value: undefined, writable: true });
  app.use(identifyRequest);
  app.use(logRequest(log));
  app.use(writeAnswer(log));
  return app;
}

/**
 * The application as a listener for `node:http`. `app.callback()` would watch the socket and send `ctx.body`.
 * logRequest and writeAnswer do that already.
 */
export function listener(app: Koa<State>, log: Pick<RequestLog, 'failed'>): RequestListener {
  const handle = compose(app.middleware);
  return (request, response) => {
    const ctx = app.createContext<State>(request, response);
    handle(ctx).catch((error: unknown) => {
      // Only writing an answer fails here, so there is no answer left to give.
      log.failed(error, ctx.state.requestId);
      response.destroy();
    });
  };
}

/** Gives the request its id. */
const identifyRequest: Middleware<State> = (ctx, next) => {
  ctx.state.requestId = requestIdOf(ctx.req);
  return next();
};

/** Logs each request when the client has the whole answer or has disconnected. */
function logRequest(log: Pick<RequestLog, 'answered'>): Middleware<State> {
  return (ctx, next) => {
    const started = performance.now();
    const { req, res, state } = ctx;
    res.once('close', () => {
      const record = {
        requestId: state.requestId,
        method: req.method,
        route: state.route,
        status: res.headersSent ? res.statusCode : undefined,
        durationMs: Math.round((performance.now() - started) * 1000) / 1000,
        keyId: state.caller?.id,
        keyLabel: state.caller?.label,
        aborted: res.writableFinished ? undefined : (true as const),
      };
      log.answered(record, req);
    });
    return next();
  };
}
