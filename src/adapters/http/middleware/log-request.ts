import type { RouterMiddleware } from '@koa/router';
import { requestIdOf } from '../contract/request-id.ts';
import type { RequestLog } from '../contract/request-log.ts';
import { clientAddress } from './request-target.ts';
import type { State } from './state.ts';

/** Assigns each request its id, and logs it when the client has the whole answer or has disconnected. */
export function logRequest(log: Pick<RequestLog, 'answered'>, trustProxy: boolean): RouterMiddleware<State> {
  return (ctx, next) => {
    const startMs = performance.now();
    const { req, res, state } = ctx;
    state.requestId = requestIdOf(req);
    res.once('close', () => {
      const status = res.headersSent ? res.statusCode : undefined;
      const record = {
        requestId: state.requestId,
        method: req.method,
        route: ctx.routerPath,
        status,
        durationMs: Math.round((performance.now() - startMs) * 1000) / 1000,
        keyId: state.caller?.id,
        keyLabel: state.caller?.label,
        // `state.client` is missing if the server itself has answered a late request.
        client: Number(status) >= 400 ? (state.client ?? clientAddress(req, trustProxy)) : undefined,
        aborted: res.writableFinished ? undefined : (true as const),
      };
      log.answered(record, req);
    });
    return next();
  };
}
