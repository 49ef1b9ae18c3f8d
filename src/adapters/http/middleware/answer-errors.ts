import { finished } from 'node:stream/promises';
import type { RouterContext, RouterMiddleware } from '@koa/router';
import { answerHeaders } from '../contract/answer-headers.ts';
import { errorAnswer, errorJson, RequestRefused } from '../contract/errors.ts';
import type { RequestLog } from '../contract/request-log.ts';
import type { State } from './state.ts';
import { clientAddress } from './request-target.ts';

/**
 * Sets the headers of every answer, and turns anything thrown into an error answer. A failure that is not the client's
 * fault is logged. A handler that gives no answer is such a failure: the client gets 500.
 *
 * The body of an answer is JSON text, because Koa would answer in plain text if it could not make it.
 *
 * @param trustProxy as for `logRequest`
 */
export function answerErrors(log: Pick<RequestLog, 'failed'>, trustProxy: boolean): RouterMiddleware<State> {
  return async (ctx, next) => {
    const headers = answerHeaders(ctx.state.requestId);
    ctx.set(headers);
    try {
      await next();
      if (ctx.body == null && ctx.status !== 204)
        throw new Error(`the route ${ctx.routerPath} gave no answer`);
    } catch (error) {
      const answer = errorAnswer(error);
      // The server has already answered a request whose body is broken or late. That is why reading the body fails.
      if (answer.status >= 500 && !ctx.headerSent && !(error instanceof RequestRefused)) {
        log.failed(error, ctx.state.requestId);
      }
      ctx.state.client = clientAddress(ctx.req, trustProxy);
      await dropBody(ctx);
      ctx.status = answer.status;
      // A handler may have set another before it failed.
      ctx.set('Content-Type', headers['Content-Type']);
      ctx.set(answer.headers);
      ctx.body = errorJson(answer);
    }
  };
}

/** How long the rest of a body is read and dropped before the last answer, in milliseconds. */
const DROP_MS = 1_000;

/**
 * Reads the rest of a body if the connection ends after the answer. It is reset if it ends with unread bytes, and that
 * could destroy the answer before the client reads it. A client that waits for "100 Continue" sends no body.
 */
async function dropBody({ req, response }: RouterContext<State>): Promise<void> {
  const { connection, expect } = req.headers;
  const isLast = /\bclose\b|1\.0/i.test(`${connection} ${response.get('Connection')} ${req.httpVersion}`);
  if (!isLast || req.complete || expect !== undefined) return;
  await finished(req.resume(), { signal: AbortSignal.timeout(DROP_MS) }).catch(() => {});
}
