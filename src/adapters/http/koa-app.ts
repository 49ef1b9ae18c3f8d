import type { RequestListener } from 'node:http';
import Koa from 'koa';
import compose from 'koa-compose';
import type { RequestLog } from './request-log.ts';
import { identifyRequest } from './middleware/identify-request.ts';
import { logRequest } from './middleware/log-request.ts';
import type { State } from './middleware/state.ts';
import { writeAnswer } from './middleware/write-answer.ts';

/**
 * A Koa application that identifies and logs every request and writes every answer.
 *
 * It bypasses Koa in three places, each measured with a list of 20 pets in memory, which takes 38 us of CPU.
 */
export function koaApp(log: RequestLog): Koa<State> {
  const app = new Koa<State>();
  // 3 us: Koa's setter derives status, media type and length from a body. writeAnswer knows them.
  Object.defineProperty(app.response, 'body', { value: undefined, writable: true });
  // 2 us: Koa parses the host, and @koa/router reads it for every request. checkTarget has validated it.
  Object.defineProperty(app.request, 'host', {
    get(this: Koa.Request) {
      return this.req.headers.host ?? '';
    },
  });
  app.use(identifyRequest);
  app.use(logRequest(log));
  app.use(writeAnswer(log));
  return app;
}

/**
 * The application as a listener for `node:http`. 3 us: `app.callback()` also watches the socket, which logRequest does,
 * and sends `ctx.body`, which writeAnswer does.
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
