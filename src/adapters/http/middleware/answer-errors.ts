import { finished } from 'node:stream/promises';
import type { RouterContext, RouterMiddleware } from '@koa/router';
import { answerHeaders } from '../contract/answer-headers.ts';
import { errorAnswer, errorJson, RequestRefused } from '../contract/errors.ts';
import type { RequestLog } from '../contract/request-log.ts';
import type { State } from './state.ts';
import { clientAddress } from './request-target.ts';

/** Sets the headers of every answer. Turns every error into an answer, and logs it unless it is the client's fault. */
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
      // When the server itself answers a broken or late body, reading the body fails. This failure is not logged.
      if (answer.status >= 500 && !ctx.headerSent && !(error instanceof RequestRefused)) {
        log.failed(error, ctx.state.requestId);
      }
      ctx.state.client = clientAddress(ctx.req, trustProxy);
      await dropBody(ctx);
      ctx.status = answer.status;
      // A handler may have set another type before it threw the error.
      ctx.set('Content-Type', headers['Content-Type']);
      ctx.set(answer.headers);
      ctx.body = errorJson(answer);
    }
  };
}

const MAX_DROP_MS = 1_000;

/**
 * Drops the remaining body if the answer ends the connection, because unread bytes could destroy the answer: see
 * docs/explanation/a-request.md.
 */
async function dropBody({ req, response }: RouterContext<State>): Promise<void> {
  const { connection, expect } = req.headers;
  const willClose = /\bclose\b|1\.0/i.test(`${connection} ${response.get('Connection')} ${req.httpVersion}`);
  if (!willClose || req.complete || expect !== undefined) return;
  await finished(req.resume(), { signal: AbortSignal.timeout(MAX_DROP_MS) }).catch(() => {});
}
