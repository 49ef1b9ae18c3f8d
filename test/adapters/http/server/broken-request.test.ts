import { expect, test } from 'vitest';
import { NOT_HTTP, OK, TIMEOUT, whole } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { SPEAKS_TLS } from '../../../support/tls/pem-files.ts';
import { get, serve } from './held-requests.ts';

const CHUNKED = 'Transfer-Encoding: chunked\r\n';

test('a client that ends its side without a request receives no answer', async () => {
  await using api = await startApi();
  const connection = await api.connect();
  connection.endSending();
  await connection.closed();
  expect(api.log.records).toStrictEqual([]);
});

const ID = 'X-Request-Id: an-id\r\n';

test.each([
  ['gzip, chunked', `${get('1', `${ID}Transfer-Encoding: gzip, chunked\r\n`)}0\r\n\r\n`],
  ['chunks in HTTP/1.0', `${get('1', ID + CHUNKED).replace('HTTP/1.1', 'HTTP/1.0')}0\r\n\r\n`],
  ['HTTP/0.9', get('1', ID).replace('HTTP/1.1', 'HTTP/0.9')],
])('neither an ambiguous request, which is refused, nor a later request is handled: %s', async (_, bytes) => {
  const { connect, handled, log } = await serve();
  const client = await connect(bytes + get('2'));
  const answer = await client.answer();
  expect([whole(answer), answer.headers['x-request-id']]).toStrictEqual([NOT_HTTP, 'an-id']);
  expect(answer.headers['connection']).toBe('close');
  await client.closed();
  const record = { requestId: 'an-id', method: 'GET', status: 400, client: '127.0.0.1' };
  expect([log.records, handled]).toStrictEqual([[record], []]);
});

test('a waiting ambiguous request is refused after the previous answer', async () => {
  const { connect, answer, handled, log } = await serve();
  const client = await connect(get('1') + get('2', 'Transfer-Encoding: gzip, chunked\r\n'));
  await answer();
  for (const expected of [OK, NOT_HTTP]) expect(whole(await client.answer())).toStrictEqual(expected);
  await client.closed();
  expect([handled, log.records.length]).toStrictEqual([['1'], 1]);
});

test.each([
  ['alone', '', []],
  ['behind another', get('1'), [OK]],
])(
  'a request with an invalid chunk is refused, whatever the application does: %s',
  async (_, before, answers) => {
    const { connect, answer, responses } = await serve();
    const client = await connect(`${before}${get('2', CHUNKED)}xyz\r\nmore`);
    if (before !== '') await answer();
    for (const expected of [...answers, NOT_HTTP])
      expect(whole(await client.answer())).toStrictEqual(expected);
    await client.closed();
    // Too late, and without an effect.
    responses.at(-1)!.end('x');
  },
);

const limits = { headersTimeoutMs: 50, requestTimeoutMs: 50 };

test('a request that misses its time limit behind a request in progress is refused after the answer to that request', async () => {
  const { connect, answer } = await serve(limits);
  const client = await connect(get('1') + get('2').slice(0, -2));
  // Its time begins later, so it is late after the first.
  expect(whole(await (await connect('GET /')).answer())).toStrictEqual(TIMEOUT);
  await answer();
  for (const expected of [OK, TIMEOUT]) expect(whole(await client.answer())).toStrictEqual(expected);
  await client.closed();
});

test('the start of a TLS handshake on a plain port is reported, unless a request came before it', async ({
  skip,
}) => {
  if (SPEAKS_TLS) skip('the port speaks TLS');
  const { connect, log, answer } = await serve();
  const hello = Buffer.from('16030100f5010000f10303', 'hex');
  for (const bytes of ['rubbish\r\n\r\n', get('1')]) {
    const client = await connect(bytes);
    if (bytes.startsWith('GET')) await answer();
    await client.answer();
    if (bytes.startsWith('GET')) await client.send(hello);
    await client.next();
    expect(log.connectionErrors).toStrictEqual([]);
  }
  await (await connect(hello)).answer();
  expect(log.connectionErrors).toStrictEqual([{ kind: 'tls' }]);
});
