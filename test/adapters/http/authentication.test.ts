import { EventEmitter, once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { TokenVerifier } from '../../../src/application/ports/token-verifier.ts';
import { EMPTY_PAGE, invalid, problem, UNAUTHENTICATED, UNAVAILABLE, brief } from '../../support/answer.ts';
import { KEY, keyWith, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';
import { post } from './raw-requests.ts';

const MALFORMED_HEADER = problem(
  401,
  'UNAUTHENTICATED',
  'the Authorization header must have "Bearer" once, then one API key: "Authorization: Bearer <API_KEY>"',
  { 'www-authenticate': 'Bearer realm="petstore", error="invalid_token"' },
);
const INVALID_KEY = problem(401, 'UNAUTHENTICATED', 'the API key is not valid', {
  'www-authenticate': 'Bearer realm="petstore", error="invalid_token"',
});

test.each([
  ['is absent', undefined, UNAUTHENTICATED],
  ['has another scheme than Bearer', 'Basic dXNlcjpwYXNz', UNAUTHENTICATED],
  ['has a longer scheme that begins with Bearer', `Bearer-like ${KEY}`, UNAUTHENTICATED],
  ['is the key without a scheme', KEY, UNAUTHENTICATED],
  ['has a wrong key', 'Bearer not-a-key-of-this-service', INVALID_KEY],
  ['has no key', 'Bearer', MALFORMED_HEADER],
  ['has the scheme twice', `Bearer Bearer ${KEY}`, MALFORMED_HEADER],
  ['has the scheme twice, and then a wrong key', 'bearer BEARER not-a-key-of-this-service', MALFORMED_HEADER],
  ['has the key in quotation marks', `Bearer "${KEY}"`, MALFORMED_HEADER],
  ['has two keys', `Bearer ${KEY} ${KEY}`, MALFORMED_HEADER],
  ['has a tab between the scheme and the key', `Bearer\t${KEY}`, MALFORMED_HEADER],
  ['has the scheme in lower case', `bearer ${KEY}`, EMPTY_PAGE],
  ['has the scheme in capitals, and then several spaces', `BEARER   ${KEY}`, EMPTY_PAGE],
])('a request has the right answer if its Authorization header %s', async (_, authorization, expected) => {
  await using api = await startApi();
  expect(brief(await api.get('/v1/pets', { authorization }))).toStrictEqual(expected);
});

test.each([
  ['GET', '/v1'],
  ['GET', '/v1/'],
  ['HEAD', '/v1/pets'],
  ['OPTIONS', '/v1/pets'],
  ['TRACE', '/v1/pets'],
  ['GET', '/v1/no/such/path'],
  ['GET', '/v1/../livez'],
])('a request under /v1 without a key is answered with 401: %s %s', async (method, path) => {
  await using api = await startApi();
  const answer = await api.request(method, path, { headers: { authorization: undefined } });
  expect(brief(answer)).toStrictEqual(method === 'HEAD' ? { ...UNAUTHENTICATED, body: '' } : UNAUTHENTICATED);
});

test.each(['/v1x', '/v10/pets'])('the path %s is not under /v1, and needs no key', async (path) => {
  await using api = await startApi();
  expect((await api.get(path, { authorization: undefined })).status).toBe(404);
});

test('a request is answered with 503 while the storage of the API keys is unavailable', async () => {
  const tokens = { verify: () => Promise.reject(new StorageUnavailable('away')) };
  await using api = await startApi({ tokens });
  expect(brief(await api.get('/v1/pets'))).toStrictEqual(UNAVAILABLE);
});

describe('the key of a request with a body', () => {
  const body = petBody();
  const head = post(`Content-Length: ${body.length}\r\n`);

  /** Counts the verifications. After the test sets `isRevoked`, the key is no longer valid. */
  class RevocableKey extends EventEmitter implements TokenVerifier {
    verifications = 0;
    isRevoked = false;
    readonly #verifier = keyWith({});

    async verify(token: string) {
      this.verifications++;
      this.emit('verified');
      return this.isRevoked ? undefined : this.#verifier.verify(token);
    }
  }

  test('is verified once if the body arrives with the headers, and twice if the body arrives later, because the key may be revoked meanwhile', async () => {
    const tokens = new RevocableKey();
    await using api = await startApi({ tokens });
    const connection = await api.connect(head + body);
    expect([(await connection.answer()).status, tokens.verifications]).toStrictEqual([201, 1]);
    for (const revoked of [false, true]) {
      const firstVerification = once(tokens, 'verified');
      await connection.send(head + body.slice(0, 1));
      await firstVerification;
      tokens.isRevoked = revoked;
      await connection.send(body.slice(1));
      expect((await connection.answer()).status).toBe(revoked ? 401 : 201);
    }
    expect(tokens.verifications).toBe(5);
    tokens.isRevoked = false;
    expect(JSON.parse((await api.get('/v1/pets')).body)).toHaveLength(2);
  });
});

test('a request with two Authorization headers is answered with 400, because the service and a proxy may read different ones', async () => {
  await using api = await startApi();
  const header = `Authorization: Bearer ${KEY}\r\n`;
  const [answer] = await api.raw(
    `GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}${header}\r\n`,
  );
  expect(brief(answer!)).toStrictEqual(invalid('the request must have at most one Authorization header'));
});

test('a header whose name is as long as Host or Authorization is not mistaken for one of these two headers', async () => {
  await using api = await startApi();
  const headers = { from: 'ann@petstore.example', 'if-none-match': '"x"' };
  expect(brief(await api.get('/v1/pets', headers))).toStrictEqual(EMPTY_PAGE);
});
