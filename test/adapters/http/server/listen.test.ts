import { Server } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { listen } from '../../../../src/adapters/http/server/listen.ts';
import { HEADERS_TOO_LARGE, NO_METHOD, NOT_HTTP, OK, URI_TOO_LONG, whole } from '../../../support/answer.ts';
import { RecordingLog } from '../../../support/recording-log.ts';
import { SPEAKS_TLS } from '../../../support/tls/pem-files.ts';
import { announced, get, serve } from './held-requests.ts';

const CHUNKED = 'Transfer-Encoding: chunked\r\n';

describe('input that is not a request', () => {
  test.each([
    ['rubbish', 'rubbish\r\n\r\n', NO_METHOD],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost\r\n\r\n', NOT_HTTP],
    ['long headers', get('', `X-Long: ${'x'.repeat(17_000)}\r\n`), HEADERS_TOO_LARGE],
    ['a URL as long as allowed', get('x'.repeat(8185), `X-Long: ${'x'.repeat(9000)}\r\n`), HEADERS_TOO_LARGE],
    [
      'a URL that is too long',
      get('x'.repeat(8186), `X-Long: ${'x'.repeat(9000)}\r\n`),
      SPEAKS_TLS ? HEADERS_TOO_LARGE : URI_TOO_LONG,
    ],
    [
      'a long value that looks like a request line',
      get('', `X-Long: GET ${'x'.repeat(9000)} ${'x'.repeat(9000)}\r\n`),
      HEADERS_TOO_LARGE,
    ],
  ])('is refused, and ends the connection: %s', async (_, bytes, expected) => {
    const { connect, log, handled } = await serve();
    const client = await connect(bytes);
    const answer = await client.answer();
    expect([whole(answer), answer.headers['connection']]).toStrictEqual([expected, 'close']);
    await client.closed();
    const requestId = answer.headers['x-request-id'];
    const record = { requestId, method: undefined, status: expected.status, client: '127.0.0.1' };
    expect([log.records, handled]).toStrictEqual([[record], []]);
  });

  // hardening/slow-clients.test.ts has clients that end their side.
  test('is answered once, after all requests before it, however many bytes follow', async () => {
    const { connect, answer, log, untilHandled } = await serve();
    const client = await connect(`${get('1')}${get('2')}rubbish\r\n\r\n`);
    await untilHandled(1);
    for (let i = 0; i < 30; i++) await client.send('x'.repeat(10_000));
    expect(log.records).toStrictEqual([]);
    for (let i = 0; i < 2; i++) await answer();
    for (const expected of [OK, OK, NO_METHOD]) expect(whole(await client.answer())).toStrictEqual(expected);
    await client.closed();
    expect(log.records).toHaveLength(1);
  });

  test('is not answered after the last answer', async () => {
    const { connect, answer, log } = await serve();
    const client = await connect(`${get('1', 'Connection: close\r\n')}rubbish\r\n\r\n`);
    await answer();
    expect(await announced(client, 1)).toStrictEqual(['close']);
    await client.closed();
    expect(log.records).toStrictEqual([]);
  });

  test('ends the connection without another answer if it is in the body of an answered request', async () => {
    const { connect, answer, log } = await serve();
    const client = await connect(get('1', CHUNKED));
    await answer();
    expect(await announced(client, 1)).toStrictEqual(['keep-alive']);
    await client.send('xyz\r\n');
    await client.closed();
    expect(log.records).toStrictEqual([]);
  });

  test('waits for the end of an answer that has begun if it is in the body of that request', async () => {
    const { connect, log, responses, untilHandled } = await serve();
    const client = await connect(get('1', CHUNKED));
    await untilHandled(1);
    const [response] = responses;
    response!.setHeader('Content-Length', OK.body.length).flushHeaders();
    for (let i = 0; i < 20; i++) {
      await client.send('xyz\r\n');
      await new Promise((resolve) => void response!.req.socket.once('data', resolve));
    }
    // Each of them is an error of the parser.
    expect(response!.listenerCount('close')).toBeLessThan(10);
    response!.end(OK.body);
    expect(whole(await client.answer())).toStrictEqual(OK);
    await client.closed();
    expect(log.records).toStrictEqual([]);
  });

  test('is not answered if its client has disconnected', async () => {
    const { connect, log, responses, untilHandled } = await serve();
    const client = await connect(`${get('1')}rubbish\r\n\r\n`);
    await untilHandled(1);
    const closed = new Promise((resolve) => void responses[0]!.once('close', resolve));
    client.abort();
    await closed;
    expect([log.records, log.failures]).toStrictEqual([[], []]);
  });
});

test('every failure of the server is logged', async () => {
  const log = new RecordingLog();
  const listening = vi.spyOn(Server.prototype, 'listen');
  onTestFinished(() => listening.mockRestore());
  const server = await listen(() => {}, { host: '127.0.0.1', port: 0, log });
  const errors = [new Error('a connection could not be accepted'), new Error('nor could the next')];
  for (const error of errors) (listening.mock.contexts[0] as Server).emit('error', error);
  expect(log.failures).toStrictEqual(errors.map((error) => ({ error, requestId: undefined })));
  await server.drain(10_000);
});

test('an unknown Expect header is ignored', async () => {
  const { connect, answer } = await serve();
  const client = await connect(get('1', 'Expect: a-miracle\r\n'));
  await answer();
  expect(whole(await client.answer())).toStrictEqual(OK);
});
