import { Server } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { listen } from '../../../../src/adapters/http/server/listen.ts';
import { HEADERS_TOO_LARGE, NO_METHOD, NOT_HTTP, URI_TOO_LONG } from '../../../support/answer.ts';
import { settled } from '../../../support/memory-client.ts';
import { RecordingLog } from '../../../support/recording-log.ts';
import { CHUNKED, CONNECT, get, post, record, refusal, startWithClient } from './in-memory-server.ts';

describe('input that is not a request', () => {
  test.each([
    ['rubbish', 'rubbish\r\n\r\n', NO_METHOD],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost\r\n\r\n', NOT_HTTP],
    ['long headers', get('/', `X-Long: ${'x'.repeat(17_000)}\r\n`), HEADERS_TOO_LARGE],
    [
      'a URL as long as allowed',
      get('/'.padEnd(8192, 'x'), `X-Long: ${'x'.repeat(9000)}\r\n`),
      HEADERS_TOO_LARGE,
    ],
    ['a URL that is too long', get('/'.padEnd(8193, 'x'), `X-Long: ${'x'.repeat(9000)}\r\n`), URI_TOO_LONG],
    [
      'a long value that looks like a request line',
      get('/', `X-Long: GET ${'x'.repeat(9000)} ${'x'.repeat(9000)}\r\n`),
      HEADERS_TOO_LARGE,
    ],
  ])('%s', async (_, bytes, expected) => {
    const { client, log, handled } = await startWithClient(bytes);
    expect(client.text).toMatch(refusal(expected));
    expect(client.hasEnded).toBe(true);
    expect(log.records).toStrictEqual([record(client.statuses[0]!)]);
    expect(client.text).toContain(`X-Request-Id: ${log.records[0]!.requestId}\r\n`);
    await client.send(`more${bytes}`);
    expect([handled, client.statuses.length, log.records.length]).toStrictEqual([[], 1, 1]);
  });

  // hardening/slow-clients.test.ts has clients that end their side.
  test('is answered after all requests before it', async () => {
    const { client, answer, responses } = await startWithClient(`${get('/1')}${get('/2')}rubbish\r\n\r\n`);
    const { server } = client;
    const listeners = () => server.eventNames().map((name) => server.listenerCount(name));
    const before = listeners();
    for (let i = 0; i < 30; i++) await client.send('x'.repeat(10_000));
    expect(client.text).toBe('');
    expect(responses).toHaveLength(1);
    // The rubbish waits outside of the service.
    expect([server.readableLength < 100_000, listeners()]).toStrictEqual([true, before]);
    await answer();
    await answer();
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200, 200, 400], true]);
    expect(client.text).toMatch(/\r\n\r\nx.*HTTP\/1\.1 400 Bad Request\r\n[^]*no HTTP method/);
  });

  test('is answered after the request before it, though its client has ended its side', async () => {
    const { client, answer } = await startWithClient();
    client.socket.end(`${get('/')}rubbish\r\n\r\n`);
    await settled();
    await answer();
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200, 400], true]);
  });

  test('after the last answer gets none', async () => {
    const { client, answer, log } = await startWithClient(
      `${get('/1', 'Connection: close\r\n')}rubbish\r\n\r\n`,
    );
    await answer();
    expect([client.statuses, client.hasEnded, log.records]).toStrictEqual([[200], true, []]);
    // Closing all of the connection now could destroy the answer before the client reads it.
    expect(client.server.destroyed).toBe(false);
  });

  test('in a body whose request is answered ends the connection without another answer', async () => {
    const { client, answer } = await startWithClient(post(CHUNKED));
    await answer();
    await client.send('xyz\r\n');
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200], true]);
  });

  test('in the form of a reset is not answered', async () => {
    const { client, log } = await startWithClient('GET /');
    client.server.destroy(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    await settled();
    expect([client.text, log.records, log.failures]).toStrictEqual(['', [], []]);
  });

  test('of a client that is gone is not answered', async () => {
    const { client, answer, log } = await startWithClient(`${get('/1')}rubbish\r\n\r\n`);
    client.server.destroy();
    await answer();
    expect([client.text, log.records]).toStrictEqual(['', []]);
  });
});

test('failures of the server are logged, however many', async () => {
  const log = new RecordingLog();
  const listening = vi.spyOn(Server.prototype, 'listen');
  onTestFinished(() => listening.mockRestore());
  const server = await listen(() => {}, { host: '127.0.0.1', port: 0, log });
  const errors = [new Error('a connection could not be accepted'), new Error('nor could the next')];
  for (const error of errors) (listening.mock.contexts[0] as Server).emit('error', error);
  expect(log.failures).toStrictEqual(errors.map((error) => ({ error, requestId: undefined })));
  await server.drain(10_000);
});

test('an unknown expectation is ignored', async () => {
  const { client, handled, answer } = await startWithClient(get('/', 'Expect: a-miracle\r\n'));
  await answer();
  expect([handled, client.statuses]).toStrictEqual([['GET /'], [200]]);
});

test('CONNECT is answered after the answer before it, like any other request, and then the connection ends', async () => {
  const { client, handled, answer, responses } = await startWithClient(get('/1') + CONNECT + get('/2'));
  expect(handled).toStrictEqual(['GET /1']);
  await answer();
  expect(handled).toStrictEqual(['GET /1', 'CONNECT x:1']);
  const closed = vi.fn<() => void>();
  responses[0]!.on('close', closed);
  await answer();
  expect([client.announced, client.hasEnded]).toStrictEqual([['keep-alive', 'close'], true]);
  expect(closed).toHaveBeenCalledOnce();
  await client.send(get('/3'));
  expect([handled.length, client.statuses]).toStrictEqual([2, [200, 200]]);
});

test('CONNECT of a client that does not read meets the idle timeout', async () => {
  const { client } = await startWithClient(CONNECT);
  client.server.emit('timeout');
  expect(client.server.destroyed).toBe(true);
});

test('CONNECT of a client that leaves in the middle ends its response', async () => {
  const { client, responses } = await startWithClient(CONNECT);
  const closed = vi.fn<() => void>();
  responses[0]!.on('close', closed);
  client.server.destroy(new Error('reset'));
  await settled();
  expect(closed).toHaveBeenCalledOnce();
});
