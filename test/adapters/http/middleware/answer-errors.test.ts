import type { RequestListener } from 'node:http';
import Router from '@koa/router';
import Koa from 'koa';
import { expect, onTestFinished, test } from 'vitest';
import { answerErrors } from '../../../../src/adapters/http/middleware/answer-errors.ts';
import { logRequest } from '../../../../src/adapters/http/middleware/log-request.ts';
import type { State } from '../../../../src/adapters/http/middleware/state.ts';
import { listen } from '../../../../src/adapters/http/server/listen.ts';
import { INTERNAL, readBrief, success } from '../../../support/answer.ts';
import { RecordingLog } from '../../../support/recording-log.ts';

const ID = 'the-one';
type Handler = Parameters<Router<State>['all']>[1];

/** Starts a server whose route has this handler. Returns its log, and a function that sends a request. */
async function serve(handler: Handler) {
  const log = new RecordingLog();
  const router = new Router<State>();
  router.get('/route', handler);
  const app = new Koa<State>();
  app.use(logRequest(log, false));
  app.use(answerErrors(log, false));
  app.use(router.routes());
  const handle = app.callback();
  const listener: RequestListener = (request, response) => void handle(request, response);
  const server = await listen(listener, { host: '127.0.0.1', port: 0, log });
  onTestFinished(async () => void (await server.drain(0)));
  const url = `http://127.0.0.1:${server.port}/route`;
  // Shorter than the idle timeout of the server, so a request without an answer fails here first.
  const sendGet = () => fetch(url, { headers: { 'x-request-id': ID }, signal: AbortSignal.timeout(20_000) });
  return { log, sendGet };
}

test.each<readonly [string, Handler, ReturnType<typeof success>]>([
  ['JSON text', (ctx) => void (ctx.body = '{"name":"Zoé"}'), success(200, '{"name":"Zoé"}')],
  ['a status and a body', (ctx) => void Object.assign(ctx, { status: 202, body: '{}' }), success(202, '{}')],
  ['the status 204', (ctx) => void (ctx.status = 204), success(204, '')],
  ['a long text', (ctx) => void (ctx.body = 'é'.repeat(20_000)), success(200, 'é'.repeat(20_000))],
  ['bytes', (ctx) => void (ctx.body = Buffer.from('<p>é</p>')), success(200, '<p>é</p>')],
])('a handler can set %s, as in any Koa application', async (_, handler, expected) => {
  const { log, sendGet } = await serve(handler);
  const answer = await sendGet();
  expect(answer.headers.get('content-type')).toBe(
    expected.status === 204 ? null : 'application/json; charset=utf-8',
  );
  expect([await readBrief(answer), log.failures]).toStrictEqual([expected, []]);
});

test.each<readonly [string, Handler, string]>([
  ['sets no answer', () => {}, 'the route /route gave no answer'],
  ['sets a status but no body', (ctx) => void (ctx.status = 200), 'the route /route gave no answer'],
  ['throws because a BigInt is no JSON', (ctx) => void (ctx.body = JSON.stringify({ id: 1n })), 'BigInt'],
  ['sets an invalid header', (ctx) => ctx.set('X-Line', 'a\nb'), 'Invalid character in header content'],
  [
    'sets a type and a status before it throws',
    (ctx) => {
      ctx.type = 'text/css';
      ctx.status = 201;
      throw new Error('a bug');
    },
    'a bug',
  ],
])('if the handler %s, the answer is 500 in JSON, and logged once', async (_, handler, message) => {
  const { log, sendGet } = await serve(handler);
  const answer = await sendGet();
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await readBrief(answer)).toStrictEqual(INTERNAL);
  const error = expect.objectContaining({ message: expect.stringContaining(message) });
  expect(log.failures).toStrictEqual([{ error, requestId: ID }]);
});

test('an error answer to a client that has disconnected is logged with the address of the client', async () => {
  const { log, sendGet } = await serve(({ req }) => {
    // Runs after the service has set the headers of the answer, and before the answer ends.
    setImmediate(() => req.socket.destroy());
    throw new Error('a bug');
  });
  await expect(sendGet()).rejects.toThrow('fetch failed');
  expect(await log.record(0)).toMatchObject({ status: 500, client: '127.0.0.1', aborted: true });
});
