import { Server } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { listen } from '../../../../src/adapters/http/server/listen.ts';
import { HEADERS_TOO_LARGE, NO_METHOD, NOT_HTTP, OK, URI_TOO_LONG, brief } from '../../../support/answer.ts';
import { RecordingLog } from '../../../support/recording-log.ts';
import { SPEAKS_TLS } from '../../../support/tls/pem-files.ts';
import { connectionHeaders, get, serve } from './held-requests.ts';

const CHUNKED = 'Transfer-Encoding: chunked\r\n';

describe('input that is not a request', () => {
  test.each([
    ['bytes that are not HTTP', 'rubbish\r\n\r\n', NO_METHOD],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost\r\n\r\n', NOT_HTTP],
    ['headers that are too long', get('', `X-Long: ${'x'.repeat(17_000)}\r\n`), HEADERS_TOO_LARGE],
    [
      'long headers and a long URL',
      get('x'.repeat(8185), `X-Long: ${'x'.repeat(9000)}\r\n`),
      HEADERS_TOO_LARGE,
    ],
    [
      'a URL that is too long',
      get('x'.repeat(8186), `X-Long: ${'x'.repeat(9000)}\r\n`),
      // Over TLS the long URL arrives in several pieces. The service then answers 431, which is also correct.
      SPEAKS_TLS ? HEADERS_TOO_LARGE : URI_TOO_LONG,
    ],
    [
      'a long header value that looks like a request line',
      get('', `X-Long: GET ${'x'.repeat(9000)} ${'x'.repeat(9000)}\r\n`),
      HEADERS_TOO_LARGE,
    ],
  ])('is refused, and the connection is closed: %s', async (_, bytes, expected) => {
    const { connect, log, handledPaths } = await serve();
    const client = await connect(bytes);
    const answer = await client.answer();
    expect([brief(answer), answer.headers['connection']]).toStrictEqual([expected, 'close']);
    await client.closed();
    const requestId = answer.headers['x-request-id'];
    const record = { requestId, method: undefined, status: expected.status, client: '127.0.0.1' };
    expect([log.records, handledPaths]).toStrictEqual([[record], []]);
  });

  // Clients that end their side of the connection are tested in hardening/slow-clients.test.ts.
  test('is answered once, after the answers to all earlier requests, even if many bytes follow', async () => {
    const { connect, answerOldest, log, waitUntilHandled } = await serve();
    const client = await connect(`${get('1')}${get('2')}rubbish\r\n\r\n`);
    await waitUntilHandled(1);
    for (let i = 0; i < 30; i++) await client.send('x'.repeat(10_000));
    expect(log.records).toStrictEqual([]);
    for (let i = 0; i < 2; i++) await answerOldest();
    for (const expected of [OK, OK, NO_METHOD]) expect(brief(await client.answer())).toStrictEqual(expected);
    await client.closed();
    expect(log.records).toHaveLength(1);
  });

  test('is not answered if it comes after the last request of the connection', async () => {
    const { connect, answerOldest, log } = await serve();
    const client = await connect(`${get('1', 'Connection: close\r\n')}rubbish\r\n\r\n`);
    await answerOldest();
    expect(await connectionHeaders(client, 1)).toStrictEqual(['close']);
    await client.closed();
    expect(log.records).toStrictEqual([]);
  });

  test('closes the connection without another answer if it is in the body of a request that is already answered', async () => {
    const { connect, answerOldest, log } = await serve();
    const client = await connect(get('1', CHUNKED));
    await answerOldest();
    expect(await connectionHeaders(client, 1)).toStrictEqual(['keep-alive']);
    await client.send('xyz\r\n');
    await client.closed();
    expect(log.records).toStrictEqual([]);
  });

  test('closes the connection after the current answer if it is in the body of the request that is being answered', async () => {
    const { connect, log, responses, waitUntilHandled } = await serve();
    const client = await connect(get('1', CHUNKED));
    await waitUntilHandled(1);
    const [response] = responses;
    response!.setHeader('Content-Length', OK.body.length).flushHeaders();
    for (let i = 0; i < 20; i++) {
      await client.send('xyz\r\n');
      await new Promise((resolve) => void response!.req.socket.once('data', resolve));
    }
    // Each piece is an error of the parser, and must not add a listener.
    expect(response!.listenerCount('close')).toBeLessThan(10);
    response!.end(OK.body);
    expect(brief(await client.answer())).toStrictEqual(OK);
    await client.closed();
    expect(log.records).toStrictEqual([]);
  });

  test('is not answered if its client has disconnected', async () => {
    const { connect, log, responses, waitUntilHandled } = await serve();
    const client = await connect(`${get('1')}rubbish\r\n\r\n`);
    await waitUntilHandled(1);
    const closed = new Promise((resolve) => void responses[0]!.once('close', resolve));
    client.abort();
    await closed;
    expect([log.records, log.failures]).toStrictEqual([[], []]);
  });
});

test('every failure of the server is logged', async () => {
  const log = new RecordingLog();
  const listenSpy = vi.spyOn(Server.prototype, 'listen');
  onTestFinished(() => listenSpy.mockRestore());
  const server = await listen(() => {}, { host: '127.0.0.1', port: 0, log });
  const errors = [new Error('a connection could not be accepted'), new Error('the next was not accepted')];
  for (const error of errors) (listenSpy.mock.contexts[0] as Server).emit('error', error);
  expect(log.failures).toStrictEqual(errors.map((error) => ({ error, requestId: undefined })));
  await server.drain(10_000);
});

test('an unknown Expect header is ignored', async () => {
  const { connect, answerOldest } = await serve();
  const client = await connect(get('1', 'Expect: a-miracle\r\n'));
  await answerOldest();
  expect(brief(await client.answer())).toStrictEqual(OK);
});
