import { expect, test } from 'vitest';
import { SERVER_LIMITS } from '../../../src/adapters/http/server/limits.ts';
import { EMPTY, HEADERS_TOO_LARGE, OK, TOO_LARGE, URI_TOO_LONG, whole } from '../../support/answer.ts';
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

const urlOf = (length: number) => '/v1/pets?'.padEnd(length, '&');

test('a URL may have at most 8 KiB', async () => {
  await using api = await startApi();
  expect(whole(await api.get(urlOf(8192)))).toStrictEqual(EMPTY);
  expect(whole(await api.get(urlOf(8193)))).toStrictEqual(URI_TOO_LONG);
  expect(whole(await api.get(urlOf(8193), { authorization: undefined }))).toStrictEqual(URI_TOO_LONG);
});

test.each([
  ['as long as all headers', 16 * 1024],
  ['far longer', 1_000_000],
])('a URL %s is refused, also after a valid request', async (_, length) => {
  await using api = await startApi();
  expect((await api.raw(get(urlOf(length)))).map(whole)).toStrictEqual([URI_TOO_LONG]);
  expect((await api.raw(LIVEZ + get(urlOf(length)))).map(whole)).toStrictEqual([OK, URI_TOO_LONG]);
});

test('headers that arrive in pieces have the same limit', async () => {
  await using api = await startApi();
  const piece = `X-Long: ${'x'.repeat(6000)}\r\n`;
  const answers = await api.raw('GET /livez HTTP/1.1\r\n', piece, piece, piece, '\r\n');
  expect(answers.map(whole)).toStrictEqual([HEADERS_TOO_LARGE]);
});

test('thousands of headers are read completely', async () => {
  await using api = await startApi();
  const headers = `${'a: b\r\n'.repeat(3000)}Authorization: Bearer ${api.key}\r\nConnection: close\r\n`;
  expect((await api.raw(get('/v1/pets', headers))).map(whole)).toStrictEqual([EMPTY]);
});

const chunk = `4000\r\n${'x'.repeat(16 * 1024)}\r\n`;
const size = 1_000_000;
const CHUNKED = 'Transfer-Encoding: chunked\r\n';

test.each([
  ['with a Content-Length', `Content-Length: ${size}\r\n`, 'x'.repeat(size)],
  ['chunked', CHUNKED, `${chunk.repeat(60)}0\r\n\r\n`],
])('a connection stays usable after a body that was too long: %s', async (_, headers, body) => {
  await using api = await startApi();
  const connection = await api.connect(post(headers) + body);
  expect(whole(await connection.answer())).toStrictEqual(TOO_LARGE);
  await connection.send(create(petBody()));
  expect(await connection.answer()).toMatchObject({ status: 201 });
});
