import type { RequestListener, ServerResponse } from 'node:http';
import Koa, { type Middleware, type ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import { answerHeaders } from '../contract/answer-headers.ts';
import { errorAnswer, errorJson, RequestRefused } from '../contract/errors.ts';
import type { RequestLog } from '../contract/request-log.ts';
import { logRequest, type State } from './log-request.ts';
import { clientAddress } from './request-target.ts';

type Context = ParameterizedContext<State>;

/**
 * A Koa application of this middleware, as a listener for `node:http`. It identifies and logs every request, and writes
 * every answer. `app.callback()` would watch the socket and send `ctx.body`, which is done here already. Without it, a
 * list costs a tenth less.
 *
 * @param trustProxy as for {@link logRequest}
 */
export function koaListener(
  log: RequestLog,
  trustProxy: boolean,
  middleware: readonly Middleware<State>[],
): RequestListener {
  const app = new Koa<State>();
  // Koa's setter derives status, media type and length from the body. writeAnswer knows them already. Saves a tenth.
  Object.defineProperty(app.response, 'body', { value: undefined, writable: true });
  const handle = compose([logRequest(log, trustProxy), writeAnswer(log, trustProxy), ...middleware]);
  return (request, response) => {
    const ctx = app.createContext<State>(request, response);
    handle(ctx).catch((error: unknown) => {
      // Only writing an answer fails here, so there is no answer left to give.
      log.failed(error, ctx.state.requestId);
      response.destroy();
    });
  };
}

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
function writeAnswer(log: Pick<RequestLog, 'failed'>, trustProxy: boolean): Middleware<State> {
  const endTogether = answerBatch();
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
        log.failed(error, ctx.state.requestId, { method: ctx.method, route: ctx.state.route });
      }
      ctx.status = answer.status;
      Object.assign(ctx.state.headers, answer.headers);
      body = errorJson(answer);
      ctx.state.client = clientAddress(ctx.req, trustProxy);
    }
    if (ctx.headerSent) return;
    if (typeof body === 'string' && body.length > LARGE_BODY_CHARS) body = Buffer.from(body);
    ctx.res.writeHead(ctx.status, Object.assign(answerHeaders(ctx.state.requestId, body), ctx.state.headers));
    endTogether(ctx.res, body);
  };
}

/** @throws {Error} when no handler has given an answer, or when JSON cannot express the body */
function bodyOf({ body, status, state }: Context): string | Buffer | undefined {
  if (status === 204) return undefined;
  if (typeof body === 'string' || Buffer.isBuffer(body)) return body;
  const json: string | undefined = JSON.stringify(body ?? undefined);
  if (json === undefined) throw new Error(`the route ${state.route} gave no answer`);
  return json;
}

/** The most answers that wait for each other. Together they take about a millisecond. */
const MAX_ANSWERS = 32;

/**
 * Ends the answers of one iteration of the event loop together. The processor then works on requests, then on sockets,
 * instead of switching between them, and a client on the same machine is woken once rather than for each answer. Saves
 * a seventh under load.
 *
 * @returns calls `response.end(body)` before the event loop waits for anything
 */
export function answerBatch() {
  let answers: { readonly response: ServerResponse; readonly body: string | Buffer | undefined }[] = [];
  const endAll = () => {
    const ended = answers;
    answers = [];
    for (const { response, body } of ended) response.end(body);
  };
  return (response: ServerResponse, body: string | Buffer | undefined): void => {
    const count = answers.push({ response, body });
    if (count === 1) setImmediate(endAll);
    else if (count === MAX_ANSWERS) endAll();
  };
}
