import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { createConnection, Server } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type ListenOptions, listen } from '../../../../src/adapters/http/server/listen.ts';
import { ListeningModel } from '../../../support/listening-model.ts';
import { MemoryClient, settled } from '../../../support/memory-client.ts';
import { RecordingLog } from '../../../support/recording-log.ts';
import { PAIR, RENEWED_PAIR, ROOT_CERT } from '../../../support/tls/pem-files.ts';

/** Longer than any drain here takes. */
const TIMEOUT_MS = 10_000;

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const post = (headers: string) => `POST / HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const CHUNKED = 'Transfer-Encoding: chunked\r\n';

/** A server without a port. What it hands to the application waits for the test to answer it. */
async function start(limits: ListenOptions['limits'] = {}) {
  const log = new RecordingLog();
  const responses: ServerResponse[] = [];
  const handled: string[] = [];
  const handle: RequestListener = (request, response) => {
    handled.push(`${request.method} ${request.url}`);
    responses.push(response);
  };
  const system = new ListeningModel();
  const server = await system.listening(() => listen(handle, { host: 'localhost', port: 7, log, limits }));
  const sockets: Duplex[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    // Ends its timers. There is nothing to wait for.
    void server.drain(0);
  });
  return {
    log,
    server,
    handled,
    responses,
    connect: () => {
      const [socket, far] = duplexPair();
      sockets.push(socket);
      system.accept(socket);
      return Object.assign(new MemoryClient(far), { server: socket });
    },
    answer: async (body = 'x') => {
      responses.shift()!.end(body);
      await settled();
    },
  };
}

const record = (status: number, method?: string) => ({
  requestId: expect.stringMatching(/^[\w-]{8,}$/),
  method,
  status,
  // The connections here are streams without an address.
  client: undefined,
});

/** The whole of an answer to input that is not a request. */
function refusal(status: number, phrase: string, code: string, message: string): RegExp {
  const body = JSON.stringify({ code, message, status });
  return new RegExp(
    `^HTTP/1\\.1 ${status} ${phrase}\r\nX-Request-Id: [\\w-]{5,}\r\nX-Content-Type-Options: nosniff\r\n` +
      `Cache-Control: no-store\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\n(Date: [^\r]+ GMT\r\n)?Connection: close\r\n(Date: [^\r]+ GMT\r\n)?\r\n` +
      `${RegExp.escape(body)}$`,
  );
}

const NOT_HTTP = refusal(400, 'Bad Request', 'INVALID_ARGUMENT', 'the request is not valid HTTP/1.1');
const NO_METHOD = refusal(
  400,
  'Bad Request',
  'INVALID_ARGUMENT',
  'the request has no HTTP method that this service knows',
);
const TIMEOUT = refusal(408, 'Request Timeout', 'REQUEST_TIMEOUT', 'the request did not end in time');
const HEADERS = refusal(
  431,
  'Request Header Fields Too Large',
  'HEADERS_TOO_LARGE',
  'the request line and headers must be at most 16384 bytes',
);
const LONG_URL = refusal(414, 'URI Too Long', 'URI_TOO_LONG', 'the URL must be at most 8192 bytes');

describe('input that is not a request', () => {
  test.each([
    ['rubbish', 'rubbish\r\n\r\n', NO_METHOD],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost\r\n\r\n', NOT_HTTP],
    ['long headers', get('/', `X-Long: ${'x'.repeat(17_000)}\r\n`), HEADERS],
    ['a URL as long as allowed', get('/'.padEnd(8192, 'x'), `X-Long: ${'x'.repeat(9000)}\r\n`), HEADERS],
    ['a URL that is too long', get('/'.padEnd(8193, 'x'), `X-Long: ${'x'.repeat(9000)}\r\n`), LONG_URL],
    [
      'a long value that looks like a request line',
      get('/', `X-Long: GET ${'x'.repeat(9000)} ${'x'.repeat(9000)}\r\n`),
      HEADERS,
    ],
  ])('%s', async (_, bytes, expected) => {
    const { connect, log, handled } = await start();
    const client = connect();
    await client.send(bytes);
    expect(client.text).toMatch(expected);
    expect(client.hasEnded).toBe(true);
    expect(log.records).toStrictEqual([record(client.statuses[0]!)]);
    expect(client.text).toContain(`X-Request-Id: ${log.records[0]!.requestId}\r\n`);
    await client.send(`more${bytes}`);
    expect([handled, client.statuses.length, log.records.length]).toStrictEqual([[], 1, 1]);
  });

  test('is answered after the requests before it', async () => {
    const { connect, answer, responses } = await start();
    const client = connect();
    await client.send(`${get('/1')}rubbish\r\n\r\n`);
    await client.send('more rubbish');
    expect(client.text).toBe('');
    expect(responses).toHaveLength(1);
    await answer();
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200, 400], true]);
    expect(client.text).toMatch(/\r\n\r\nx.*HTTP\/1\.1 400 Bad Request\r\n[^]*no HTTP method/);
  });

  test('is answered after all requests that wait', async () => {
    const { connect, answer } = await start();
    const client = connect();
    await client.send(`${get('/1')}${get('/2')}rubbish\r\n\r\n`);
    await answer();
    await answer();
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200, 200, 400], true]);
  });

  test('is answered after all requests that wait, to a client that has ended its side', async () => {
    const { connect, answer } = await start();
    const client = connect();
    client.socket.end(`${get('/1')}${get('/2')}rubbish`);
    await settled();
    await answer();
    await answer();
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200, 200, 400], true]);
  });

  test('after the answers to all requests', async () => {
    const { connect, answer } = await start();
    const client = connect();
    await client.send(get('/1'));
    await answer();
    await client.send('rubbish\r\n\r\n');
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200, 400], true]);
  });

  test('after the last answer gets none', async () => {
    const { connect, answer, log } = await start();
    const client = connect();
    await client.send(`${get('/1', 'Connection: close\r\n')}rubbish\r\n\r\n`);
    await answer();
    expect([client.statuses, client.hasEnded, log.records]).toStrictEqual([[200], true, []]);
    // Closing all of the connection now could destroy the answer before the client reads it.
    expect(client.server.destroyed).toBe(false);
  });

  test('in a body is the answer to its request', async () => {
    const { connect, handled, log } = await start();
    const client = connect();
    await client.send(`${post(`X-Request-Id: an-id\r\n${CHUNKED}`)}xyz\r\n`);
    expect(client.text).toMatch(NOT_HTTP);
    expect(client.text).toContain('X-Request-Id: an-id\r\n');
    expect([client.hasEnded, handled]).toStrictEqual([true, []]);
    expect(log.records).toStrictEqual([{ ...record(400, 'POST'), requestId: 'an-id' }]);
  });

  test('in the body of a request that waits is answered after those before it', async () => {
    const { connect, answer, handled, log } = await start();
    const client = connect();
    await client.send(`${get('/1')}${post(CHUNKED)}xyz\r\n`);
    await client.send('more');
    await answer();
    expect([client.statuses, client.hasEnded, handled]).toStrictEqual([[200, 400], true, ['GET /1']]);
    expect(log.records).toStrictEqual([record(400, 'POST')]);
  });

  test('in the extensions of a chunk', async () => {
    const { connect } = await start();
    const client = connect();
    await client.send(`${post(CHUNKED)}5;${'x'.repeat(20_000)}`);
    expect(client.text).toMatch(
      refusal(413, 'Payload Too Large', 'PAYLOAD_TOO_LARGE', 'the chunk extensions are too large'),
    );
  });

  test('in a body whose request is answered ends the connection without another answer', async () => {
    const { connect, answer } = await start();
    const client = connect();
    await client.send(post(CHUNKED));
    await answer();
    await client.send('xyz\r\n');
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200], true]);
  });

  test('in the form of a reset is not answered', async () => {
    const { connect, log } = await start();
    const client = connect();
    await client.send('GET /');
    client.server.destroy(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    await settled();
    expect([client.text, log.records, log.failures]).toStrictEqual(['', [], []]);
  });

  test('of a client that is gone is not answered', async () => {
    const { connect, answer, log } = await start();
    const client = connect();
    await client.send(`${get('/1')}rubbish\r\n\r\n`);
    client.server.destroy();
    await answer();
    expect([client.text, log.records]).toStrictEqual(['', []]);
  });
});

test.each([
  ['gzip, chunked', 'POST', 'HTTP/1.1', `Transfer-Encoding: gzip, chunked\r\n`],
  ['chunks in HTTP/1.0', 'POST', 'HTTP/1.0', CHUNKED],
  ['chunks in HTTP/1.0, and CONNECT', 'CONNECT', 'HTTP/1.0', CHUNKED],
  ['CONNECT in HTTP/0.9', 'CONNECT', 'HTTP/0.9', ''],
])('an ambiguous request is refused: %s', async (_, method, version, headers) => {
  const { connect, handled, log } = await start();
  const client = connect();
  const head = post(`X-Request-Id: an-id\r\n${headers}`).replace('HTTP/1.1', version);
  const request = `${head.replace('POST', method)}0\r\n\r\n`;
  await client.send(request + get('/2'));
  expect(client.text).toMatch(NOT_HTTP);
  await client.send(get('/3'));
  expect([client.hasEnded, client.statuses, handled]).toStrictEqual([true, [400], []]);
  expect(log.records).toStrictEqual([{ ...record(400, method), requestId: 'an-id' }]);
});

describe('a request that does not end in time', () => {
  const limits = { headersTimeoutMs: 20, requestTimeoutMs: 20 };

  test('is answered', async () => {
    const { connect, log } = await start(limits);
    const client = connect();
    await client.send('GET / HTTP/1.1\r\nHost');
    await log.record(0);
    await settled();
    expect(client.text).toMatch(TIMEOUT);
    expect(client.hasEnded).toBe(true);
  });

  test('is not late while the client does not read the answer before it', async () => {
    const { connect, answer, handled } = await start();
    const client = connect();
    client.socket.pause();
    await client.send(get('/1') + get('/2').slice(0, -2));
    await answer('x'.repeat(200_000));
    const { server } = client.server as unknown as { readonly server: Server };
    const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.emit('clientError', late, client.server);
    await client.send('X: y\r\n\r\n');
    client.socket.resume();
    await settled();
    expect([client.statuses, handled]).toStrictEqual([[200], ['GET /1', 'GET /2']]);
  });

  test('is late behind a request in progress, whose answer comes first', async () => {
    const { connect, log, answer } = await start(limits);
    const [client, other] = [connect(), connect()];
    await client.send(get('/1') + get('/2').slice(0, -2));
    await other.send('GET / HTTP/1.1\r\nHost');
    await log.record(0);
    await answer();
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200, 408], true]);
  });
});

test('the first start of a TLS handshake is reported', async () => {
  const { connect, log } = await start();
  const hello = Buffer.from('16030100f5010000f10303', 'hex');
  await connect().send('rubbish\r\n\r\n');
  expect(log.troubles).toStrictEqual([]);
  for (let i = 0; i < 2; i++) await connect().send(hello);
  expect(log.troubles).toStrictEqual([{ kind: 'tls' }]);
});

test('what looks like a TLS handshake after a request is not reported', async () => {
  const { connect, log, answer } = await start();
  const client = connect();
  await client.send(get('/'));
  await answer();
  await client.send(Buffer.from('16030100f5010000f10303', 'hex'));
  expect([client.statuses, log.troubles]).toStrictEqual([[200, 400], []]);
});

test('a request may come without a Host, with any number of headers', async () => {
  const { connect, responses } = await start();
  const headers = Array.from({ length: 2500 }, () => 'a:b\r\n').join('');
  await connect().send(`GET / HTTP/1.1\r\n${headers}\r\n`);
  expect(responses[0]!.req.rawHeaders).toHaveLength(5000);
});

test('a client that has ended its side gets its answer', async () => {
  const { connect, answer } = await start();
  const client = connect();
  client.socket.end(get('/'));
  await settled();
  await answer();
  expect([client.statuses, client.hasEnded]).toStrictEqual([[200], true]);
});

test('connections beyond the limit and failures of the server are logged', async () => {
  const log = new RecordingLog();
  const listening = vi.spyOn(Server.prototype, 'listen');
  onTestFinished(() => listening.mockRestore());
  const options = { host: '127.0.0.1', port: 0, log, limits: { maxConnections: 1 } };
  const server = await listen(() => {}, options);
  const clients = [0, 1].map(() => createConnection({ host: '127.0.0.1', port: server.port }));
  await once(clients[1]!, 'close');
  expect(await log.trouble(0)).toStrictEqual({ kind: 'refused', connections: 1 });

  const error = new Error('a connection could not be accepted');
  (listening.mock.contexts[0] as Server).emit('error', error);
  expect(log.failures).toStrictEqual([{ error, requestId: undefined }]);

  for (const client of clients) client.destroy();
  await server.drain(TIMEOUT_MS);
});

test('over TLS, requests come after the handshake, and another certificate is for new connections', async () => {
  const log = new RecordingLog();
  const options = { host: '127.0.0.1', port: 0, log, tls: PAIR, limits: { handshakeTimeoutMs: 60_000 } };
  const server = await listen((_, response) => response.end('x'), options);
  const fingerprint = async () => {
    const socket = connectTls({ host: '127.0.0.1', port: server.port, ca: ROOT_CERT });
    const client = new MemoryClient(socket);
    socket.write(get('/'));
    await once(socket, 'data');
    expect(client.statuses).toStrictEqual([200]);
    const certificate = socket.getPeerX509Certificate();
    socket.destroy();
    return certificate?.fingerprint256;
  };
  const before = await fingerprint();
  server.renewCertificate(RENEWED_PAIR);
  const renewed = await fingerprint();
  expect([before, renewed]).not.toContain(undefined);
  expect(renewed).not.toBe(before);
  const [rubbish, silent] = [0, 1].map(() => createConnection({ host: '127.0.0.1', port: server.port }));
  rubbish!.on('error', () => {}).write('rubbish\r\n\r\n');
  await new Promise<void>((resolve) => void rubbish!.once('close', () => resolve()));
  expect(await log.trouble(0)).toMatchObject({ kind: 'handshake', connections: 1 });
  // Connections are accepted in order, so the server knows the silent one.
  await fingerprint();
  const [cutOff] = await Promise.all([server.drain(50), once(silent!, 'close')]);
  expect([cutOff, log.troubles.length]).toStrictEqual([0, 1]);
});

test('over TLS, a client that has ended its side gets its answer', async () => {
  const options = { host: '127.0.0.1', port: 0, log: new RecordingLog(), tls: PAIR };
  const answerAtTheEnd: RequestListener = (request, response) =>
    request.socket.once('end', () => setImmediate(() => response.end('x')));
  const server = await listen(answerAtTheEnd, options);
  const socket = connectTls({ host: '127.0.0.1', port: server.port, ca: ROOT_CERT });
  const client = new MemoryClient(socket);
  await once(socket, 'secureConnect');
  socket.end(get('/'));
  await once(socket, 'end');
  expect(client.statuses).toStrictEqual([200]);
  await server.drain(0);
});

test('without TLS, another certificate is ignored', async () => {
  const { server } = await start();
  expect(() => server.renewCertificate(PAIR)).not.toThrow();
});

test('an unknown expectation is ignored', async () => {
  const { connect, handled, answer } = await start();
  const client = connect();
  await client.send(get('/', 'Expect: a-miracle\r\n'));
  await answer();
  expect([handled, client.statuses]).toStrictEqual([['GET /'], [200]]);
});

describe('CONNECT', () => {
  const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

  test('is answered like any other request, and then the connection ends', async () => {
    const { connect, handled, answer, responses } = await start();
    const client = connect();
    await client.send(CONNECT + get('/2'));
    expect(handled).toStrictEqual(['CONNECT x:1']);
    const closed = vi.fn<() => void>();
    responses[0]!.on('close', closed);
    await answer();
    expect([client.announced, client.hasEnded]).toStrictEqual([['close'], true]);
    expect(closed).toHaveBeenCalledOnce();
    await client.send(get('/3'));
    expect([handled.length, client.statuses]).toStrictEqual([1, [200]]);
  });

  test('waits for the answer before it', async () => {
    const { connect, handled, answer } = await start();
    const client = connect();
    await client.send(get('/1') + CONNECT);
    expect(handled).toStrictEqual(['GET /1']);
    await answer();
    expect(handled).toStrictEqual(['GET /1', 'CONNECT x:1']);
    await answer();
    expect([client.statuses, client.hasEnded]).toStrictEqual([[200, 200], true]);
  });

  test('after an answer is handled at once', async () => {
    const { connect, handled, answer } = await start();
    const client = connect();
    await client.send(get('/1'));
    await answer();
    await client.send(CONNECT);
    expect(handled).toStrictEqual(['GET /1', 'CONNECT x:1']);
  });

  test('of a client that is gone is not handled', async () => {
    const { connect, handled } = await start();
    const client = connect();
    await client.send(get('/1') + CONNECT);
    client.server.destroy(new Error('reset'));
    await settled();
    expect(handled).toStrictEqual(['GET /1']);
  });

  test('of a client that does not read meets the idle timeout', async () => {
    const { connect } = await start();
    const client = connect();
    await client.send(CONNECT);
    client.server.emit('timeout');
    expect(client.server.destroyed).toBe(true);
  });

  test('of a client that leaves in the middle ends its response', async () => {
    const { connect, responses } = await start();
    const client = connect();
    await client.send(CONNECT);
    const closed = vi.fn<() => void>();
    responses[0]!.on('close', closed);
    client.server.destroy(new Error('reset'));
    await settled();
    expect(closed).toHaveBeenCalledOnce();
  });
});

describe('a drain', () => {
  /** Lets time pass, and everything happen that follows. */
  const pass = async (ms: number) => {
    vi.advanceTimersByTime(ms);
    await settled();
  };
  const fakeTime = () => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    });
    onTestFinished(() => void vi.useRealTimers());
  };

  test('leaves idle connections open for half a second', async () => {
    fakeTime();
    const { connect, server, answer } = await start();
    const [fresh, used, busy] = [connect(), connect(), connect()];
    for (const client of [used, busy]) {
      await client.send(get('/'));
      await answer();
    }
    const ended = vi.fn<(cutOff: number) => void>();
    expect(server.isDraining).toBe(false);
    void server.drain(TIMEOUT_MS).then(ended);
    expect(server.isDraining).toBe(true);
    await busy.send(get('/'));
    await answer();
    expect(busy.announced).toStrictEqual(['keep-alive', 'close']);
    busy.socket.end();
    await pass(499);
    expect([fresh.hasEnded, used.hasEnded, busy.server.destroyed]).toStrictEqual([false, false, true]);
    await pass(1);
    expect([fresh.server.destroyed, used.server.destroyed]).toStrictEqual([true, true]);
    expect(ended).toHaveBeenCalledExactlyOnceWith(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('waits for answers, and for clients that still read', async () => {
    fakeTime();
    const { connect, server, responses } = await start();
    const [slow, idle] = [connect(), connect()];
    slow.socket.pause();
    await slow.send(get('/'));
    const ended = vi.fn<(cutOff: number) => void>();
    void server.drain(TIMEOUT_MS).then(ended);
    await pass(5_000);
    expect(ended).not.toHaveBeenCalled();
    expect(idle.server.destroyed).toBe(true);
    responses[0]!.end('x'.repeat(200_000));
    await pass(1_000);
    const late = connect();
    await pass(1_000);
    // Node takes the slow one for idle.
    expect([late.server.destroyed, slow.server.destroyed]).toStrictEqual([false, false]);
    slow.socket.resume();
    await settled();
    expect([slow.announced, slow.text.length > 200_000]).toStrictEqual([['close'], true]);
    await pass(1_050);
    expect(ended).toHaveBeenCalledExactlyOnceWith(0);
  });

  test('cuts off what is left at its timeout, and counts only what was in use', async () => {
    fakeTime();
    const { connect, server, responses } = await start();
    const [idle, waiting, slow, halfway] = [connect(), connect(), connect(), connect()];
    slow.socket.pause();
    await slow.send(get('/slow'));
    await waiting.send(get('/waiting'));
    await halfway.send('GET /');
    responses[0]!.end('x'.repeat(200_000));
    await settled();
    const ended = vi.fn<(cutOff: number) => void>();
    void server.drain(400).then(ended);
    await pass(399);
    expect(ended).not.toHaveBeenCalled();
    await pass(1);
    expect(ended).toHaveBeenCalledExactlyOnceWith(3);
    for (const { server: socket } of [idle, waiting, slow, halfway]) expect(socket.destroyed).toBe(true);
  });

  test('begins to close after the time in which it still accepts', async () => {
    fakeTime();
    const { server } = await start();
    const ended = vi.fn<(cutOff: number) => void>();
    void server.drain(TIMEOUT_MS, 2_000).then(ended);
    await pass(1_999);
    expect(ended).not.toHaveBeenCalled();
    await pass(1);
    expect(ended).toHaveBeenCalledExactlyOnceWith(0);
  });
});

describe('memory', () => {
  test('beyond the limit costs those that hold the most their connections', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { connect, log } = await start({ maxHeldBytes: 10_000 });
    const lengths = [1_000, 2_500, 2_000, 3_000, 1_500];
    const clients = lengths.map(() => connect());
    const open = () => clients.map(({ server }) => !server.destroyed);
    for (const [index, length] of lengths.entries()) {
      await clients[index]!.send(post(`Content-Length: ${length}\r\n`));
    }
    vi.advanceTimersByTime(50);
    // Exactly the limit.
    expect(open()).toStrictEqual([true, true, true, true, true]);
    const another = connect();
    await another.send(post('Content-Length: 500\r\n'));
    vi.advanceTimersByTime(49);
    expect(open()).toStrictEqual([true, true, true, true, true]);
    vi.advanceTimersByTime(1);
    // Three quarters of the limit are left.
    expect(open()).toStrictEqual([true, true, true, false, true]);
    expect(log.troubles).toStrictEqual([{ kind: 'cut-off', connections: 1 }]);
    expect(another.server.destroyed).toBe(false);
  });

  test('is measured until nothing is in progress', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { connect, log, answer } = await start({ maxHeldBytes: 10_000 });
    const [client, other] = [connect(), connect()];
    await client.send(get('/1'));
    await other.send(get('/2'));
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(5_000);
    expect(vi.getTimerCount()).toBe(1);
    await answer();
    await answer();
    vi.advanceTimersByTime(50);
    expect(vi.getTimerCount()).toBe(0);
    await client.send(post('Content-Length: 20000\r\n'));
    vi.advanceTimersByTime(50);
    expect(log.troubles).toStrictEqual([{ kind: 'cut-off', connections: 1 }]);
    expect([client.server.destroyed, other.server.destroyed]).toStrictEqual([true, false]);
  });
});
