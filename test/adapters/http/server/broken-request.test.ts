import { expect, test } from 'vitest';
import { NOT_HTTP, OK, TIMEOUT, brief } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { SPEAKS_TLS } from '../../../support/tls/pem-files.ts';
import { get, serve } from './held-requests.ts';

const CHUNKED = 'Transfer-Encoding: chunked\r\n';

test('a client that ends its side of the connection without a request receives no answer', async () => {
  await using api = await startApi();
  const connection = await api.connect();
  connection.endSending();
  await connection.closed();
  expect(api.log.records).toStrictEqual([]);
});

const REQUEST_ID = 'X-Request-Id: an-id\r\n';

test.each([
  ['Transfer-Encoding: gzip', `${get('1', `${REQUEST_ID}Transfer-Encoding: gzip, chunked\r\n`)}0\r\n\r\n`],
  ['chunks in HTTP/1.0', `${get('1', REQUEST_ID + CHUNKED).replace('HTTP/1.1', 'HTTP/1.0')}0\r\n\r\n`],
  ['HTTP/0.9', get('1', REQUEST_ID).replace('HTTP/1.1', 'HTTP/0.9')],
])('an ambiguous request is refused, and a later request is ignored: %s', async (_, bytes) => {
  const { connect, handledPaths, log } = await serve();
  const client = await connect(bytes + get('2'));
  const answer = await client.answer();
  expect([brief(answer), answer.headers['x-request-id']]).toStrictEqual([NOT_HTTP, 'an-id']);
  expect(answer.headers['connection']).toBe('close');
  await client.closed();
  const record = { requestId: 'an-id', method: 'GET', status: 400, client: '127.0.0.1' };
  expect([log.records, handledPaths]).toStrictEqual([[record], []]);
});

test('an ambiguous request that waits behind another request is refused after the answer to the other request', async () => {
  const { connect, answerOldest, handledPaths, log } = await serve();
  const client = await connect(get('1') + get('2', 'Transfer-Encoding: gzip, chunked\r\n'));
  await answerOldest();
  for (const expected of [OK, NOT_HTTP]) expect(brief(await client.answer())).toStrictEqual(expected);
  await client.closed();
  expect([handledPaths, log.records.length]).toStrictEqual([['1'], 1]);
});

test.each([
  ['the first request', '', []],
  ['the second request', get('1'), [OK]],
])(
  'a request with an invalid chunk is refused, even if the application answers it later: %s of the connection',
  async (_, earlierRequest, earlierAnswers) => {
    const { connect, answerOldest, responses } = await serve();
    const client = await connect(`${earlierRequest}${get('2', CHUNKED)}xyz\r\nmore`);
    if (earlierRequest !== '') await answerOldest();
    for (const expected of [...earlierAnswers, NOT_HTTP])
      expect(brief(await client.answer())).toStrictEqual(expected);
    await client.closed();
    // The answer of the application comes too late, and has no effect.
    responses.at(-1)!.end('x');
  },
);

const limits = { headersTimeoutMs: 50, requestTimeoutMs: 50 };

test('a request that misses its time limit behind a request in progress is refused after the answer to that request', async () => {
  const { connect, answerOldest } = await serve(limits);
  const client = await connect(get('1') + get('2').slice(0, -2));
  // This connection begins later. When it is answered with 408, the time limit of the second request above is over,
  // too.
  expect(brief(await (await connect('GET /')).answer())).toStrictEqual(TIMEOUT);
  await answerOldest();
  for (const expected of [OK, TIMEOUT]) expect(brief(await client.answer())).toStrictEqual(expected);
  await client.closed();
});

test('a TLS handshake on a port without TLS is reported if no request came before it on the connection', async ({
  skip,
}) => {
  if (SPEAKS_TLS) skip('the port of this project speaks TLS');
  const { connect, log, answerOldest } = await serve();
  const tlsHello = Buffer.from('16030100f5010000f10303', 'hex');
  for (const bytes of ['rubbish\r\n\r\n', get('1')]) {
    const client = await connect(bytes);
    if (bytes.startsWith('GET')) await answerOldest();
    await client.answer();
    if (bytes.startsWith('GET')) await client.send(tlsHello);
    await client.next();
    expect(log.connectionErrors).toStrictEqual([]);
  }
  await (await connect(tlsHello)).answer();
  expect(log.connectionErrors).toStrictEqual([{ kind: 'tls' }]);
});
