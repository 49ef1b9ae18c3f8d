import { expect, test } from 'vitest';
import { SERVER_LIMITS } from '../../../src/adapters/http/server/limits.ts';
import { EMPTY_PAGE, HEADERS_TOO_LARGE, OK, TOO_LARGE, URI_TOO_LONG, brief } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';
import { create, LIVEZ, post } from './raw-requests.ts';

const get = (target: string, headers = '') => `GET ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

test('the server has the limits that the documents state', () => {
  expect(SERVER_LIMITS).toStrictEqual({
    handshakeTimeoutMs: 10_000,
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    keepAliveTimeoutMs: 65_000,
    idleTimeoutMs: 40_000,
    maxHeadersBytes: 16_384,
    maxConnections: 10_000,
    maxHeldBytes: 67_108_864,
  });
});

const urlOfLength = (length: number) => '/v1/pets?'.padEnd(length, '&');

test('a URL may have at most 8 KiB', async () => {
  await using api = await startApi();
  expect(brief(await api.get(urlOfLength(8192)))).toStrictEqual(EMPTY_PAGE);
  expect(brief(await api.get(urlOfLength(8193)))).toStrictEqual(URI_TOO_LONG);
  expect(brief(await api.get(urlOfLength(8193), { authorization: undefined }))).toStrictEqual(URI_TOO_LONG);
});

test.each([
  ['of 16 KiB, the limit of all headers,', 16 * 1024],
  ['of 1 MB', 1_000_000],
])('a URL %s is refused as the first and as the second request', async (_, length) => {
  await using api = await startApi();
  expect((await api.raw(get(urlOfLength(length)))).map(brief)).toStrictEqual([URI_TOO_LONG]);
  expect((await api.raw(LIVEZ + get(urlOfLength(length)))).map(brief)).toStrictEqual([OK, URI_TOO_LONG]);
});

test('headers that arrive in pieces are refused if they are longer than the limit together', async () => {
  await using api = await startApi();
  const piece = `X-Long: ${'x'.repeat(6000)}\r\n`;
  const answers = await api.raw('GET /livez HTTP/1.1\r\n', piece, piece, piece, '\r\n');
  expect(answers.map(brief)).toStrictEqual([HEADERS_TOO_LARGE]);
});

test('the service reads all headers of a request with thousands of headers', async () => {
  await using api = await startApi();
  const headers = `${'a: b\r\n'.repeat(3000)}Authorization: Bearer ${api.key}\r\nConnection: close\r\n`;
  expect((await api.raw(get('/v1/pets', headers))).map(brief)).toStrictEqual([EMPTY_PAGE]);
});

const chunk = `4000\r\n${'x'.repeat(16 * 1024)}\r\n`;
const bodySize = 1_000_000;
const CHUNKED = 'Transfer-Encoding: chunked\r\n';

test.each([
  ['with a Content-Length', `Content-Length: ${bodySize}\r\n`, 'x'.repeat(bodySize)],
  ['in chunks', CHUNKED, `${chunk.repeat(60)}0\r\n\r\n`],
])('a connection stays usable after a body that is too long and is sent %s', async (_, headers, body) => {
  await using api = await startApi();
  const connection = await api.connect(post(headers) + body);
  expect(brief(await connection.answer())).toStrictEqual(TOO_LARGE);
  await connection.send(create(petBody()));
  expect(await connection.answer()).toMatchObject({ status: 201 });
});
