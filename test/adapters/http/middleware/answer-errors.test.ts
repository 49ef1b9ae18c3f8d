import type { RequestListener } from 'node:http';
import Router from '@koa/router';
import Koa from 'koa';
import { expect, onTestFinished, test } from 'vitest';
import { answerErrors } from '../../../../src/adapters/http/middleware/answer-errors.ts';
import { logRequest } from '../../../../src/adapters/http/middleware/log-request.ts';
import type { State } from '../../../../src/adapters/http/middleware/state.ts';
import { listen } from '../../../../src/adapters/http/server/listen.ts';
import { INTERNAL, received, success } from '../../../support/answer.ts';
import { RecordingLog } from '../../../support/recording-log.ts';

const ID = 'the-one';
type Handler = Parameters<Router<State>['all']>[1];

/** A server with a route that has this handler, its log, and a function that sends a request. */
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
  // Sooner than the idle timeout, which ends what hangs.
  const ask = () => fetch(url, { headers: { 'x-request-id': ID }, signal: AbortSignal.timeout(20_000) });
  return { log, ask };
}

test.each<readonly [string, Handler, ReturnType<typeof success>]>([
  ['JSON text', (ctx) => void (ctx.body = '{"name":"Zoé"}'), success(200, '{"name":"Zoé"}')],
  ['a status', (ctx) => void Object.assign(ctx, { status: 202, body: '{}' }), success(202, '{}')],
  ['no content', (ctx) => void (ctx.status = 204), success(204, '')],
  ['a long text', (ctx) => void (ctx.body = 'é'.repeat(20_000)), success(200, 'é'.repeat(20_000))],
  ['bytes', (ctx) => void (ctx.body = Buffer.from('<p>é</p>')), success(200, '<p>é</p>')],
])('a handler sets the answer, as in any Koa application: %s', async (_, handler, expected) => {
  const { log, ask } = await serve(handler);
  const answer = await ask();
  expect(answer.headers.get('content-type')).toBe(
    expected.status === 204 ? null : 'application/json; charset=utf-8',
  );
  expect([await received(answer), log.failures]).toStrictEqual([expected, []]);
});

test.each<readonly [string, Handler, string]>([
  ['sets nothing', () => {}, 'the route /route gave no answer'],
  ['has no body', (ctx) => void (ctx.status = 200), 'the route /route gave no answer'],
  ['has a body that is no JSON', (ctx) => void (ctx.body = JSON.stringify({ id: 1n })), 'BigInt'],
  ['has an invalid header', (ctx) => ctx.set('X-Line', 'a\nb'), 'Invalid character in header content'],
  [
    'fails after it has set another type and status',
    (ctx) => {
      ctx.type = 'text/css';
      ctx.status = 201;
      throw new Error('a bug');
    },
    'a bug',
  ],
])('a handler that %s is answered with 500 in JSON, and logged once', async (_, handler, message) => {
  const { log, ask } = await serve(handler);
  const answer = await ask();
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await received(answer)).toStrictEqual(INTERNAL);
  const error = expect.objectContaining({ message: expect.stringContaining(message) });
  expect(log.failures).toStrictEqual([{ error, requestId: ID }]);
});

test('an error answer to a disconnected client is logged with the address of the client', async () => {
  const { log, ask } = await serve(({ req }) => {
    // After the head is made, and before the end of the answer.
    setImmediate(() => req.socket.destroy());
    throw new Error('a bug');
  });
  await expect(ask()).rejects.toThrow('fetch failed');
  expect(await log.record(0)).toMatchObject({ status: 500, client: '127.0.0.1', aborted: true });
});
