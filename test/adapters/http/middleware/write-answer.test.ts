import Router from '@koa/router';
import type { Middleware } from 'koa';
import { expect, onTestFinished, test } from 'vitest';
import type { State } from '../../../../src/adapters/http/middleware/log-request.ts';
import { routes } from '../../../../src/adapters/http/middleware/routes.ts';
import { koaListener } from '../../../../src/adapters/http/middleware/write-answer.ts';
import { listen } from '../../../../src/adapters/http/server/listen.ts';
import { INTERNAL, received, success } from '../../../support/answer.ts';
import { RecordingLog } from '../../../support/recording-log.ts';

const ID = 'the-one';
type Handler = Parameters<Router<State>['all']>[1];

/** A server with this middleware, the log, and a function that sends a request. */
async function serve(middleware: Middleware<State>) {
  const log = new RecordingLog();
  const server = await listen(koaListener(log, false, [middleware]), { host: '127.0.0.1', port: 0, log });
  onTestFinished(async () => void (await server.drain(0)));
  const url = `http://127.0.0.1:${server.port}/route`;
  // Sooner than the idle timeout, which ends what hangs.
  const ask = () => fetch(url, { headers: { 'x-request-id': ID }, signal: AbortSignal.timeout(20_000) });
  return { log, ask };
}

/** The answer to a GET of a route with this handler, and the failures that are logged. */
async function answerOf(handler: Handler) {
  const router = new Router<State>();
  router.get('/route', handler);
  const { log, ask } = await serve(routes(router));
  return [await received(await ask()), log.failures];
}

test.each<readonly [string, Handler, ReturnType<typeof success>]>([
  ['a value', (ctx) => void (ctx.body = { name: 'Zoé' }), success(200, '{"name":"Zoé"}')],
  ['later', async (ctx) => void (ctx.body = await Promise.resolve({})), success(200, '{}')],
  ['a status', (ctx) => void Object.assign(ctx, { status: 202, body: {} }), success(202, '{}')],
  ['no content', (ctx) => void (ctx.status = 204), success(204, '')],
  ['much', (ctx) => void (ctx.body = 'é'.repeat(20_000)), success(200, 'é'.repeat(20_000))],
  ['bytes', (ctx) => void (ctx.body = Buffer.from('<p>é</p>')), success(200, '<p>é</p>')],
  [
    'headers in any way of Koa',
    (ctx) => {
      ctx.state.headers['X-One'] = '1';
      ctx.set({ 'X-Two': '2', 'X-Three': '3' });
      ctx.append('X-Four', '4');
      ctx.set('X-Gone', 'no');
      ctx.remove('X-Gone');
      ctx.body = {};
    },
    success(200, '{}', { 'x-one': '1', 'x-two': '2', 'x-three': '3', 'x-four': '4' }),
  ],
])('a handler says what the answer is, as in any Koa application: %s', async (_, handler, answer) => {
  expect(await answerOf(handler)).toStrictEqual([answer, []]);
});

test.each<readonly [string, Handler, string]>([
  ['says nothing', () => {}, 'the route /route gave no answer'],
  ['has no body', (ctx) => void (ctx.status = 200), 'the route /route gave no answer'],
  ['has a body that JSON leaves out', (ctx) => void (ctx.body = () => 1), 'the route /route gave no answer'],
  ['has a body that is no JSON', (ctx) => void (ctx.body = { id: 1n }), 'BigInt'],
])('a handler that %s: 500, logged once, and never a hang', async (_, handler, message) => {
  const error = expect.objectContaining({ message: expect.stringContaining(message) });
  expect(await answerOf(handler)).toStrictEqual([INTERNAL, [{ error, requestId: ID }]]);
});

test('an answer that cannot be written ends the connection, and is logged', async () => {
  const { log, ask } = await serve((ctx) => {
    ctx.state.headers['X-Line'] = 'a\nb';
    ctx.body = {};
  });
  await expect(ask()).rejects.toThrow('fetch failed');
  const error = expect.objectContaining({ code: 'ERR_INVALID_CHAR' });
  expect(log.failures).toStrictEqual([{ error, requestId: ID }]);
});

test('an error answer to a client that has left is logged with its address', async () => {
  const { log, ask } = await serve(({ req }) => {
    // After writeHead, and before the end of the answer.
    setImmediate(() => req.socket.destroy());
    throw new Error('a bug');
  });
  await expect(ask()).rejects.toThrow('fetch failed');
  expect(await log.record(0)).toMatchObject({ status: 500, client: '127.0.0.1', aborted: true });
});

test('a handler that writes the answer itself is left alone', async () => {
  const answer = await answerOf((ctx) => {
    ctx.res.writeHead(418, { 'Content-Length': 3 }).end('tea');
  });
  expect(answer).toStrictEqual([success(418, 'tea'), []]);
});
