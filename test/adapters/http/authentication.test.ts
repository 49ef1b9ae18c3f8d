import { EventEmitter, once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { TokenVerifier } from '../../../src/application/ports/token-verifier.ts';
import { EMPTY, invalid, problem, UNAUTHENTICATED, UNAVAILABLE, whole } from '../../support/answer.ts';
import { KEY, keyWith, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';
import { post } from './raw-requests.ts';

const MALFORMED = problem(
  401,
  'UNAUTHENTICATED',
  'the Authorization header must have "Bearer" once, then one API key: "Authorization: Bearer <API_KEY>"',
  { 'www-authenticate': 'Bearer realm="petstore", error="invalid_token"' },
);
const INVALID = problem(401, 'UNAUTHENTICATED', 'the API key is not valid', {
  'www-authenticate': 'Bearer realm="petstore", error="invalid_token"',
});

test.each([
  ['absent', undefined, UNAUTHENTICATED],
  ['of another scheme', 'Basic dXNlcjpwYXNz', UNAUTHENTICATED],
  ['of a scheme that begins with Bearer', `Bearer-like ${KEY}`, UNAUTHENTICATED],
  ['with the bare key', KEY, UNAUTHENTICATED],
  ['with a wrong key', 'Bearer not-a-key-of-this-service', INVALID],
  ['without a key', 'Bearer', MALFORMED],
  ['with the scheme twice', `Bearer Bearer ${KEY}`, MALFORMED],
  ['with the scheme twice, before a wrong key', 'bearer BEARER not-a-key-of-this-service', MALFORMED],
  ['with a key in quotation marks', `Bearer "${KEY}"`, MALFORMED],
  ['with two keys', `Bearer ${KEY} ${KEY}`, MALFORMED],
  ['with the key behind a tab', `Bearer\t${KEY}`, MALFORMED],
  ['in lower case', `bearer ${KEY}`, EMPTY],
  ['in capitals, with several spaces', `BEARER   ${KEY}`, EMPTY],
])('the Authorization header %s has its answer', async (_, authorization, expected) => {
  await using api = await startApi();
  expect(whole(await api.get('/v1/pets', { authorization }))).toStrictEqual(expected);
});

test.each([
  ['GET', '/v1'],
  ['GET', '/v1/'],
  ['HEAD', '/v1/pets'],
  ['OPTIONS', '/v1/pets'],
  ['TRACE', '/v1/pets'],
  ['GET', '/v1/no/such/path'],
  ['GET', '/v1/../livez'],
])('every request under /v1 without a key has the same answer: %s %s', async (method, path) => {
  await using api = await startApi();
  const answer = await api.request(method, path, { headers: { authorization: undefined } });
  expect(whole(answer)).toStrictEqual(method === 'HEAD' ? { ...UNAUTHENTICATED, body: '' } : UNAUTHENTICATED);
});

test.each(['/v1x', '/v10/pets'])('a path that only begins with /v1 needs no key: %s', async (path) => {
  await using api = await startApi();
  expect((await api.get(path, { authorization: undefined })).status).toBe(404);
});

test('a request is answered with 503 while keys cannot be verified', async () => {
  const tokens = { verify: () => Promise.reject(new StorageUnavailable('away')) };
  await using api = await startApi({ tokens });
  expect(whole(await api.get('/v1/pets'))).toStrictEqual(UNAVAILABLE);
});

describe('a key of a request with a body', () => {
  const body = petBody();
  const head = post(`Content-Length: ${body.length}\r\n`);

  /** Keys that can be revoked. */
  class Tokens extends EventEmitter implements TokenVerifier {
    times = 0;
    revoked = false;
    readonly #known = keyWith({});

    async verify(token: string) {
      this.times++;
      this.emit('verified');
      return this.revoked ? undefined : this.#known.verify(token);
    }
  }

  test('is verified once when the body arrives with the headers, and again if it arrives later, as the key may be revoked', async () => {
    const tokens = new Tokens();
    await using api = await startApi({ tokens });
    const connection = await api.connect(head + body);
    expect([(await connection.answer()).status, tokens.times]).toStrictEqual([201, 1]);
    for (const revoked of [false, true]) {
      const first = once(tokens, 'verified');
      await connection.send(head + body.slice(0, 1));
      await first;
      tokens.revoked = revoked;
      await connection.send(body.slice(1));
      expect((await connection.answer()).status).toBe(revoked ? 401 : 201);
    }
    expect(tokens.times).toBe(5);
    tokens.revoked = false;
    expect(JSON.parse((await api.get('/v1/pets')).body)).toHaveLength(2);
  });
});

test('a request with two Authorization headers is answered with 400, because a proxy may use the other header', async () => {
  await using api = await startApi();
  const header = `Authorization: Bearer ${KEY}\r\n`;
  const [answer] = await api.raw(
    `GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}${header}\r\n`,
  );
  expect(whole(answer!)).toStrictEqual(invalid('the request must have at most one Authorization header'));
});

test('headers whose names are as long as Host and Authorization are not mistaken for these two', async () => {
  await using api = await startApi();
  const headers = { from: 'ann@petstore.example', 'if-none-match': '"x"' };
  expect(whole(await api.get('/v1/pets', headers))).toStrictEqual(EMPTY);
});
