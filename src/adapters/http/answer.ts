import type { Context, Middleware } from 'koa';
import { type ErrorAnswer, errorAnswer, errorJson } from './errors.ts';
import { requestId } from './request-id.ts';
import type { RequestLog } from './request-log.ts';

export type State = {
  requestId: string;
  /** The label of the API key, once it has been verified. */
  key?: string;
};

/** The headers of every answer that has a body. */
export const ANSWER_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
} as const;

const answerHeaders = Object.entries(ANSWER_HEADERS);

/** Gives the request its id and every answer its headers, and logs the request when the answer is out. */
export function frame(log: RequestLog): Middleware<State> {
  return (ctx, next) => {
    const started = performance.now();
    const { req, res } = ctx;
    const id = requestId(req.headers['x-request-id']);
    ctx.state.requestId = id;
    res.setHeader('X-Request-Id', id);
    for (const [name, value] of answerHeaders) res.setHeader(name, value);
    res.once('close', () => {
      log.answered({
        requestId: id,
        method: ctx.method,
        route: ctx['routerPath'],
        status: res.statusCode,
        durationMs: performance.now() - started,
        key: ctx.state.key,
        aborted: !res.writableFinished,
      });
    });
    return next();
  };
}

/** Turns whatever is thrown further in into an error answer, and logs what is not the client's fault. */
export function answerErrors(log: RequestLog): Middleware<State> {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      // The server has answered a request that did not end in time, and that made its body fail to be read.
      if (ctx.headerSent) return;
      const answer = errorAnswer(error);
      if (answer.status >= 500) log.failed(error, ctx.state.requestId);
      sendError(ctx, answer);
    }
  };
}

export function sendJson(ctx: Context, status: number, json: string): void {
  ctx.status = status;
  ctx.body = json;
}

function sendError(ctx: Context, answer: ErrorAnswer): void {
  for (const [name, value] of Object.entries(answer.headers)) ctx.res.setHeader(name, value);
  sendJson(ctx, answer.status, errorJson(answer));
}
