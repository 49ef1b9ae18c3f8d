import type { Middleware } from 'koa';
import type { RequestLog } from '../wire/request-log.ts';
import type { State } from './state.ts';

/** Logs each request when the client has the whole answer or has disconnected. */
export function logRequest(log: Pick<RequestLog, 'answered'>): Middleware<State> {
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
