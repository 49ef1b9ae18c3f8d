import type { Middleware, ParameterizedContext } from 'koa';
import type { RequestLog } from '../wire/request-log.ts';
import { answerHeaders } from '../wire/answer-headers.ts';
import { errorAnswer, errorJson, RequestRefused } from '../wire/errors.ts';
import { AnswerBatch } from './answer-batch.ts';
import type { State } from './state.ts';

/** Longer bodies are encoded here. Node would hold up to three bytes for each character while a slow client reads. */
const LARGE_BODY_CHARS = 16 * 1024;

/**
 * Writes every answer, in one `writeHead`. The middleware after it sets the answer as in any Koa application:
 * `ctx.status`, `ctx.body` (JSON text, a value for `JSON.stringify`, or a Buffer with its own `Content-Type`), and
 * headers in `ctx.state.headers` or with `ctx.set`.
 *
 * Anything thrown becomes an error answer. A failure that is not the client's fault is logged. A handler that gives no
 * answer is such a failure: the client gets 500.
 */
export function writeAnswer(log: Pick<RequestLog, 'failed'>): Middleware<State> {
  const batch = new AnswerBatch();
  return async (ctx, next) => {
    ctx.state.headers = {};
    let body: string | Buffer | undefined;
    try {
      await next();
      body = bodyOf(ctx);
    } catch (error) {
      const answer = errorAnswer(error);
      // A request that timed out has its answer already. That is why reading its body fails.
      if (answer.status >= 500 && !ctx.headerSent && !(error instanceof RequestRefused)) {
        log.failed(error, ctx.state.requestId);
      }
      ctx.status = answer.status;
      Object.assign(ctx.state.headers, answer.headers);
      body = errorJson(answer);
    }
    if (!ctx.headerSent) batch.end(ctx.res, writeHead(ctx, body));
  };
}

/** @throws {Error} when no handler has given an answer, or when JSON cannot express the body */
function bodyOf(ctx: ParameterizedContext<State>): string | Buffer | undefined {
  const { body, status } = ctx;
  if (status === 204) return undefined;
  if (typeof body === 'string' || Buffer.isBuffer(body)) return body;
  const json: string | undefined = JSON.stringify(body ?? undefined);
  if (json === undefined) throw new Error(`the route ${ctx.state.route} gave no answer`);
  return json;
}

/** @returns the body in the form in which it takes the least memory */
function writeHead(
  { res, state, status }: ParameterizedContext<State>,
  body: string | Buffer | undefined,
): string | Buffer | undefined {
  const sent = typeof body === 'string' && body.length > LARGE_BODY_CHARS ? Buffer.from(body) : body;
  res.writeHead(status, Object.assign(answerHeaders(state.requestId, sent), state.headers));
  return sent;
}
