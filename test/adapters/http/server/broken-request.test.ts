import type { RequestListener } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../../../src/adapters/http/server/listen.ts';
import { answerHeaders } from '../../../../src/adapters/http/contract/answer-headers.ts';
import { NOT_HTTP, OK, URI_TOO_LONG, whole } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { settled } from '../../../support/memory-client.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { RecordingLog } from '../../../support/recording-log.ts';
import { PAIR, SPEAKS_TLS } from '../../../support/tls/pem-files.ts';
import { CHUNKED, get, post, record, refusal, start, startWithClient } from './in-memory-server.ts';
import { LAST, LIVEZ } from '../raw-requests.ts';

// TLS splits it into records. The first of them alone looks like headers that are too large.
test('a URL that is too long is told from headers that are', async () => {
  await using api = await startApi();
  const url = '/livez?'.padEnd(8193, 'x');
  const answers = await api.raw(`GET ${url} HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(9000)}\r\n\r\n`);
  expect(answers.map(whole)).toStrictEqual([URI_TOO_LONG]);
});

// RFC 9112, section 9.6. A reset can destroy the answer before the client reads it.
test.each([
  ['with "Connection: close"', LAST],
  ['to CONNECT', LIVEZ.replace('GET', 'CONNECT')],
])('the last answer, %s, reaches a client that keeps sending', async (_, last) => {
  await using api = await startApi();
  const connection = await api.connect();
  connection.pause();
  for (const bytes of [last, LIVEZ, LIVEZ, LIVEZ]) {
    await connection.send(bytes);
    await api.get('/livez');
  }
  connection.resume();
  expect(await connection.answer()).toMatchObject({ headers: { connection: 'close' } });
  await connection.closed();
});

test.each([
  ['an invalid chunk', 'data', (client: RawConnection) => client.send('xyz\r\n')],
  ['the end of its side', 'end', (client: RawConnection) => client.endSending()],
] as const)('%s, between the headers of the answer and its body', async (_, event, breakBody) => {
  const log = new RecordingLog();
  const hasBegun = Promise.withResolvers<void>();
  const handle: RequestListener = (request, response) => {
    response.writeHead(200, answerHeaders('an-id', OK.body));
    request.socket.once(event, () => response.end(OK.body));
    hasBegun.resolve();
  };
  const server = await listen(handle, {
    host: '127.0.0.1',
    port: 0,
    log,
    tls: SPEAKS_TLS ? PAIR : undefined,
  });
  onTestFinished(async () => void (await server.drain(0)));
  const client = await RawConnection.open(server.port);
  await client.send('GET /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  await hasBegun.promise;
  await breakBody(client);
  expect(whole(await client.answer())).toStrictEqual(OK);
  await client.closed();
  expect(log.records).toStrictEqual([]);
});

test('a client that ends its side without a request gets no answer', async () => {
  await using api = await startApi();
  const connection = await api.connect();
  connection.endSending();
  await connection.closed();
  expect(api.log.records).toStrictEqual([]);
});

test.each([
  ['gzip, chunked', 'POST', 'HTTP/1.1', 'Transfer-Encoding: gzip, chunked\r\n'],
  ['chunks in HTTP/1.0, and CONNECT', 'CONNECT', 'HTTP/1.0', CHUNKED],
  ['CONNECT in HTTP/0.9', 'CONNECT', 'HTTP/0.9', ''],
  ['an invalid chunk', 'POST', 'HTTP/1.1', `${CHUNKED}\r\nxyz\r\n`],
])('an ambiguous or invalid request is refused: %s', async (_, method, version, headers) => {
  const { client, handled, log } = await startWithClient();
  const head = post(`X-Request-Id: an-id\r\n${headers}`).replace('HTTP/1.1', version);
  const request = `${head.replace('POST', method)}0\r\n\r\n`;
  await client.send(request + get('/2'));
  expect(client.text).toMatch(refusal(NOT_HTTP));
  expect(client.text).toContain('X-Request-Id: an-id\r\n');
  await client.send(get('/3'));
  expect([client.hasEnded, client.statuses, handled]).toStrictEqual([true, [400], []]);
  expect(log.records).toStrictEqual([{ ...record(400, method), requestId: 'an-id' }]);
});

test.each([
  ['ambiguous', `${post('Transfer-Encoding: gzip, chunked\r\n')}0\r\n\r\n${get('/3')}`],
  ['invalid in its body', `${post(CHUNKED)}xyz\r\nmore`],
])('a request that waits, and is %s, is refused after the answer before it', async (_, bytes) => {
  const { client, answer, handled, log } = await startWithClient(get('/1') + bytes);
  expect(client.text).toBe('');
  await answer();
  expect([client.statuses, client.hasEnded, handled]).toStrictEqual([[200, 400], true, ['GET /1']]);
  expect(log.records).toStrictEqual([record(400, 'POST')]);
});

const limits = { headersTimeoutMs: 20, requestTimeoutMs: 20 };

test('a request that does not end in time is late although its client does not read the answer before it', async () => {
  const { client, connect, log, answer, handled } = await startWithClient('', limits);
  client.socket.pause();
  await client.send(get('/1') + get('/2').slice(0, -2));
  await answer('x'.repeat(200_000));
  // Its time begins later, so it is late after the first.
  await connect().send('GET / HTTP/1.1\r\nHost');
  await log.record(0);
  client.socket.resume();
  await settled();
  expect([client.statuses, client.hasEnded, handled]).toStrictEqual([[200, 408], true, ['GET /1']]);
});

test('a request that does not end in time is late behind a request in progress, whose answer comes first', async () => {
  const { client, connect, log, answer } = await startWithClient(get('/1') + get('/2').slice(0, -2), limits);
  // Its time begins later, so it is late after the first.
  await connect().send('GET / HTTP/1.1\r\nHost');
  await log.record(0);
  await answer();
  expect([client.statuses, client.hasEnded]).toStrictEqual([[200, 408], true]);
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
  const { client, log, answer } = await startWithClient(get('/'));
  await answer();
  await client.send(Buffer.from('16030100f5010000f10303', 'hex'));
  expect([client.statuses, log.troubles]).toStrictEqual([[200, 400], []]);
});
