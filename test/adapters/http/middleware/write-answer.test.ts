import Router from '@koa/router';
import type { Middleware } from 'koa';
import { expect, onTestFinished, test } from 'vitest';
import type { State } from '../../../../src/adapters/http/middleware/log-request.ts';
import { routes } from '../../../../src/adapters/http/middleware/routes.ts';
import { koaListener } from '../../../../src/adapters/http/middleware/write-answer.ts';
import { listen } from '../../../../src/adapters/http/server/listen.ts';
import { received } from '../../../support/answer.ts';
import { RecordingLog } from '../../../support/recording-log.ts';

const ID = 'the-one';
const INTERNAL = JSON.stringify({
  code: 'INTERNAL',
  message: 'an internal error occurred; it has been logged under this request id',
  status: 500,
});

type Handler = Parameters<Router<State>['all']>[1];

/** A server with this middleware, the log, and a function that sends a request. */
async function serve(middleware: Middleware<State>) {
  const log = new RecordingLog();
  const server = await listen(koaListener(log, false, [middleware]), { host: '127.0.0.1', port: 0, log });
  onTestFinished(async () => void (await server.drain(0)));
  const url = `http://127.0.0.1:${server.port}/route`;
  return { log, ask: () => fetch(url, { headers: { 'x-request-id': ID } }) };
}

/** The answer to a GET of a route with this handler, and what is logged. */
async function answerOf(handler: Handler) {
  const router = new Router<State>();
  router.get('/route', handler);
  const { log, ask } = await serve(routes(router));
  return { ...(await received(await ask())), failures: log.failures, record: await log.record(0) };
}

function expected(status: number, body: string, headers: Record<string, string> = {}) {
  const content = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
  };
  return {
    status,
    headers: {
      'x-request-id': ID,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      ...(status !== 204 && content),
      ...headers,
    },
    body,
    record: expect.objectContaining({ requestId: ID, route: '/route', status, aborted: undefined }),
  };
}

test.each<readonly [string, Handler, ReturnType<typeof expected>]>([
  ['a value', (ctx) => void (ctx.body = { name: 'Zoé' }), expected(200, '{"name":"Zoé"}')],
  ['later', async (ctx) => void (ctx.body = await Promise.resolve({})), expected(200, '{}')],
  ['status', (ctx) => void Object.assign(ctx, { status: 202, body: {} }), expected(202, '{}')],
  ['no content', (ctx) => void (ctx.status = 204), expected(204, '')],
  [
    'a large body',
    (ctx) => void (ctx.body = ['é'.repeat(20_000)]),
    expected(200, `["${'é'.repeat(20_000)}"]`),
  ],
  [
    'bytes of its own type',
    (ctx) => {
      ctx.body = Buffer.from('<p>é</p>');
      Object.assign(ctx.state.headers, { 'Content-Type': 'text/html', 'Cache-Control': 'private' });
    },
    expected(200, '<p>é</p>', { 'content-type': 'text/html', 'cache-control': 'private' }),
  ],
])('a handler says what the answer is, as in any Koa application: %s', async (_, handler, answer) => {
  expect(await answerOf(handler)).toStrictEqual({ ...answer, failures: [] });
});

test('headers by name, in the state or in any way of Koa', async () => {
  const answer = await answerOf((ctx) => {
    ctx.state.headers['X-One'] = '1';
    ctx.set({ 'X-Two': '2', 'X-Three': '3' });
    ctx.append('X-Four', '4');
    ctx.set('X-Gone', 'no');
    ctx.remove('X-Gone');
    ctx.body = {};
  });
  expect(answer).toStrictEqual({
    ...expected(200, '{}', { 'x-one': '1', 'x-two': '2', 'x-three': '3', 'x-four': '4' }),
    failures: [],
  });
});

test.each<readonly [string, Handler, string]>([
  ['says nothing', () => {}, 'the route /route gave no answer'],
  ['has no body', (ctx) => void (ctx.status = 200), 'the route /route gave no answer'],
  ['has a body that JSON leaves out', (ctx) => void (ctx.body = () => 1), 'the route /route gave no answer'],
  ['has a body that is no JSON', (ctx) => void (ctx.body = { id: 1n }), 'BigInt'],
  ['fails', () => Promise.reject(new Error('a bug')), 'a bug'],
])('a handler that %s: 500, logged once, and never a hang', async (_, handler, message) => {
  const answer = await answerOf(handler);
  expect(answer).toStrictEqual({
    ...expected(500, INTERNAL),
    failures: [
      { error: expect.objectContaining({ message: expect.stringContaining(message) }), requestId: ID },
    ],
  });
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
  const { status, body, failures } = await answerOf((ctx) => {
    ctx.res.writeHead(418, { 'Content-Length': 3 }).end('tea');
  });
  expect({ status, body, failures }).toStrictEqual({ status: 418, body: 'tea', failures: [] });
});
