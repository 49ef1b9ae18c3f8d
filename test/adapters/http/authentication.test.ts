import { EventEmitter, once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { TokenVerifier } from '../../../src/application/ports/token-verifier.ts';
import { EMPTY_PAGE, invalid, problem, UNAUTHENTICATED, UNAVAILABLE, brief } from '../../support/answer.ts';
import { KEY, keyWith, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';
import { post } from './raw-requests.ts';

const MALFORMED_HEADER_ANSWER = problem(
  401,
  'UNAUTHENTICATED',
  'the Authorization header must have "Bearer" once, then one API key: "Authorization: Bearer <API_KEY>"',
  { 'www-authenticate': 'Bearer realm="petstore", error="invalid_token"' },
);
const INVALID_KEY_ANSWER = problem(401, 'UNAUTHENTICATED', 'the API key is not valid', {
  'www-authenticate': 'Bearer realm="petstore", error="invalid_token"',
});

test.each([
  ['is absent', undefined, UNAUTHENTICATED],
  ['has another scheme than Bearer', 'Basic dXNlcjpwYXNz', UNAUTHENTICATED],
  ['has a longer scheme that begins with Bearer', `Bearer-like ${KEY}`, UNAUTHENTICATED],
  ['is the key without a scheme', KEY, UNAUTHENTICATED],
  ['has a wrong key', 'Bearer wrong-key', INVALID_KEY_ANSWER],
  ['has no key', 'Bearer', MALFORMED_HEADER_ANSWER],
  ['has the scheme twice', `Bearer Bearer ${KEY}`, MALFORMED_HEADER_ANSWER],
  ['has the scheme twice, and then a wrong key', 'bearer BEARER wrong-key', MALFORMED_HEADER_ANSWER],
  ['has the key in quotation marks', `Bearer "${KEY}"`, MALFORMED_HEADER_ANSWER],
  ['has two keys', `Bearer ${KEY} ${KEY}`, MALFORMED_HEADER_ANSWER],
  ['has a tab between the scheme and the key', `Bearer\t${KEY}`, MALFORMED_HEADER_ANSWER],
  ['has the scheme in lower case', `bearer ${KEY}`, EMPTY_PAGE],
  ['has the scheme in capitals, and then several spaces', `BEARER   ${KEY}`, EMPTY_PAGE],
])('only "Bearer" with one valid key is accepted: Authorization %s', async (_, authorization, expected) => {
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
])('the request %s %s needs a key, and is answered with 401', async (method, path) => {
  await using api = await startApi();
  const answer = await api.request(method, path, { headers: { authorization: undefined } });
  expect(brief(answer)).toStrictEqual(method === 'HEAD' ? { ...UNAUTHENTICATED, body: '' } : UNAUTHENTICATED);
});

// These paths are not under /v1, so they need no key.
test.each(['/v1x', '/v10/pets'])('a request for %s without a key is answered with 404', async (path) => {
  await using api = await startApi();
  expect((await api.get(path, { authorization: undefined })).status).toBe(404);
});

test('a request is answered with 503 while the storage of the API keys is unavailable', async () => {
  const tokens = { verify: () => Promise.reject(new StorageUnavailable('down')) };
  await using api = await startApi({ tokens });
  expect(brief(await api.get('/v1/pets'))).toStrictEqual(UNAVAILABLE);
});

describe('the key of a request with a body', () => {
  const body = petBody();
  const requestHead = post(`Content-Length: ${body.length}\r\n`);

  /** Accepts the key until the test sets `isRevoked`, and counts the verifications. */
  class RevocableKeyVerifier extends EventEmitter implements TokenVerifier {
    verifications = 0;
    isRevoked = false;
    readonly #verifier = keyWith({});

    async verify(token: string) {
      this.verifications++;
      this.emit('verified');
      return this.isRevoked ? undefined : this.#verifier.verify(token);
    }
  }

  test('is verified a second time only if the body arrives after the headers, because the key may be revoked in the time between', async () => {
    const tokens = new RevocableKeyVerifier();
    await using api = await startApi({ tokens });
    const connection = await api.connect(requestHead + body);
    expect([(await connection.answer()).status, tokens.verifications]).toStrictEqual([201, 1]);
    for (const isRevoked of [false, true]) {
      const firstVerification = once(tokens, 'verified');
      await connection.send(requestHead + body.slice(0, 1));
      await firstVerification;
      tokens.isRevoked = isRevoked;
      await connection.send(body.slice(1));
      expect((await connection.answer()).status).toBe(isRevoked ? 401 : 201);
    }
    // The first request has one verification. Each of the two requests with a later body has two.
    expect(tokens.verifications).toBe(5);
    tokens.isRevoked = false;
    expect(JSON.parse((await api.get('/v1/pets')).body)).toHaveLength(2);
  });
});

test('a request with two Authorization headers is answered with 400, because a proxy may check only one of them, and the service the other', async () => {
  await using api = await startApi();
  const header = `Authorization: Bearer ${KEY}\r\n`;
  const [answer] = await api.raw(
    `GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}${header}\r\n`,
  );
  expect(brief(answer!)).toStrictEqual(invalid('the request must have at most one Authorization header'));
});

test('a header whose name is as long as Host or Authorization is not counted as one of these two headers', async () => {
  await using api = await startApi();
  const headers = { from: 'ann@petstore.example', 'if-none-match': '"x"' };
  expect(brief(await api.get('/v1/pets', headers))).toStrictEqual(EMPTY_PAGE);
});
