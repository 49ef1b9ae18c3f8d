import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type Router from '@koa/router';
import type { RouterContext } from '@koa/router';
import Koa, { type Middleware, type ParameterizedContext } from 'koa';
import compose from 'koa-compose';
import { answerHeaders } from '../contract/answer-headers.ts';
import { errorAnswer, errorJson, RequestRefused } from '../contract/errors.ts';
import { allowHeader, methodNotAllowed, routeNotFound } from '../contract/refusals.ts';
import type { RequestLog } from '../contract/request-log.ts';
import { logRequest, type State } from './log-request.ts';
import { clientAddress } from './request-target.ts';

// Everything that the HTTP adapter does past Koa, @koa/router and koa-bodyparser, with what it saves of the CPU time of a
// list in memory. Tried with Koa 3.3.0, @koa/router 15.7.0, koa-bodyparser 4.4.1 and Node 26. Tests that fail when one of
// them changes: test/adapters/http/middleware/koa-bypass.test.ts, test/adapters/http/routing.test.ts and
// test/adapters/http/media-type-and-encoding.test.ts.

type Context = ParameterizedContext<State>;

/**
 * A Koa application that identifies and logs every request and writes every answer.
 *
 * @param trustProxy as for {@link logRequest}
 */
export function koaApp(log: RequestLog, trustProxy: boolean): Koa<State> {
  const app = new Koa<State>();
  // Koa's setter derives status, media type and length from the body. writeAnswer knows them already. Saves a tenth.
  Object.defineProperty(app.response, 'body', { value: undefined, writable: true });
  app.use(logRequest(log, trustProxy));
  app.use(writeAnswer(log, trustProxy));
  return app;
}

/**
 * The application as a listener for `node:http`. `app.callback()` would watch the socket and send `ctx.body`.
 * logRequest and writeAnswer do that already. Saves a tenth.
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
    batch.end(ctx.res, body);
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
 */
export class AnswerBatch {
  #answers: { readonly response: ServerResponse; readonly body: string | Buffer | undefined }[] = [];

  /** Calls `response.end(body)` before the event loop waits for anything. */
  end(response: ServerResponse, body: string | Buffer | undefined): void {
    const count = this.#answers.push({ response, body });
    if (count === 1) setImmediate(this.#endAll);
    else if (count === MAX_ANSWERS) this.#endAll();
  }

  readonly #endAll = () => {
    const answers = this.#answers;
    this.#answers = [];
    for (const { response, body } of answers) response.end(body);
  };
}

/**
 * Hands each request to its route. `router.routes()` would compose the middleware of the route anew for each request.
 * Saves a quarter.
 */
export function routes({ stack }: Router<State>): Middleware<State> {
  const handlers = stack.map((layer) => ({
    layer,
    handle: compose(layer.stack as compose.Middleware<Context>[]),
  }));
  return (ctx, next) => {
    const { path, method } = ctx;
    const route = handlers.find(({ layer }) => layer.methods.includes(method) && layer.match(path));
    if (route === undefined) return next();
    const { layer, handle } = route;
    ctx.state.route = String(layer.path);
    (ctx as RouterContext).params = layer.params(path, layer.captures(path));
    return handle(ctx);
  };
}

/**
 * Answers a request without a route. `router.allowedMethods()` would answer 501 to an unknown method, but RFC 9110,
 * section 15.5.6, requires 405 on a known path.
 */
export function allowedMethods({ stack }: Router<State>): Middleware<State> {
  return (ctx) => {
    const { path, method } = ctx;
    const at = (place: string) => stack.filter((layer) => layer.match(place));
    // `OPTIONS *` asks about the whole service: RFC 9110, section 9.3.7.
    const methods = (path === '*' ? stack : at(path)).flatMap((layer) => layer.methods);
    if (methods.length === 0) {
      const bare = path.replace(/\/$/, '');
      throw routeNotFound([bare, `/v1${bare}`].flatMap(at)[0]?.path.toString());
    }
    const allow = allowHeader(methods);
    if (method !== 'OPTIONS') throw methodNotAllowed(allow);
    ctx.state.headers['Allow'] = allow;
    ctx.status = 204;
  };
}

/**
 * koa-bodyparser would inflate a body with a stream that it abandons at the limit without an error listener. Corrupt data
 * after the limit would then end the process.
 */
export function hideContentCoding({ headers }: IncomingMessage): void {
  delete headers['content-encoding'];
}
