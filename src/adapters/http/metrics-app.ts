import type { RequestListener } from 'node:http';
import Router from '@koa/router';
import { koaApp, listener } from './koa-app.ts';
import { checkLength, checkTarget } from './middleware/request-target.ts';
import type { State } from './middleware/state.ts';
import { dispatch } from './routes/dispatch.ts';
import type { RequestLog } from './wire/request-log.ts';

/** The text format of Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/ */
const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Answers GET and HEAD of `/metrics`, and anything else as the API does. It has no authentication, so it belongs on a
 * port that only operators can reach.
 *
 * @param text called for each scrape
 */
export function createMetricsApp(text: () => Promise<string>, log: RequestLog): RequestListener {
  const router = new Router<State>({ strict: true, sensitive: true });
  router.get('/metrics', async (ctx) => {
    ctx.body = await text();
    ctx.state.headers['Content-Type'] = TEXT_FORMAT;
  });
  const app = koaApp(log);
  app.use(checkTarget);
  app.use(checkLength);
  app.use(dispatch(router));
  return listener(app, log);
}
