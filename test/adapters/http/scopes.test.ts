import { describe, expect, test } from 'vitest';
import { InMemoryTokenVerifier, knownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import type { Scope } from '../../../src/domain/api-key.ts';
import { problem, success, whole } from '../../support/answer.ts';
import { type Api, KEY, KEY_LABEL, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';

/** The service, with these scopes for the key of the tests. */
async function startWith(...scopes: readonly Scope[]): Promise<Api> {
  const key = knownKey({ label: KEY_LABEL, token: KEY, scopes });
  return startApi({ tokens: new InMemoryTokenVerifier([key]) });
}

function forbidden(scope: Scope, headers: Record<string, string> = {}): ReturnType<typeof whole> {
  return problem(403, 'PERMISSION_DENIED', `the API key does not have the scope ${scope}`, {
    'www-authenticate': `Bearer realm="petstore", error="insufficient_scope", scope="${scope}"`,
    ...headers,
  });
}

/** The headers of every answer on getPet's path. */
const deprecation = (api: Api) => ({
  deprecation: '@1795132800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: `<${api.url}/docs#getPet>; rel="deprecation"; type="text/html"`,
});

const REX = '{"id":1,"name":"Rex","categoryId":7,"status":"available"}';

describe('a key that may only read', () => {
  test('lists and gets', async () => {
    await using api = await startWith('pets:read');
    expect(whole(await api.get('/v1/pets'))).toStrictEqual(success(200, '[]'));
    expect(whole(await api.request('HEAD', '/v1/pets'))).toStrictEqual(success(200, ''));
    expect((await api.get('/v1/pets/1')).status).toBe(404);
  });

  test('does not add: 403, and nothing is stored', async () => {
    await using api = await startWith('pets:read');
    expect(whole(await api.post(petBody()))).toStrictEqual(forbidden('pets:write'));
    expect((await api.get('/v1/pets')).body).toBe('[]');
  });
});

describe('a key that may only write', () => {
  test('adds', async () => {
    await using api = await startWith('pets:write');
    expect(whole(await api.post(petBody()))).toStrictEqual(success(201, REX, { location: '/v1/pets/1' }));
  });

  test('does not list, not even with HEAD: 403', async () => {
    await using api = await startWith('pets:write');
    expect(whole(await api.get('/v1/pets'))).toStrictEqual(forbidden('pets:read'));
    expect(whole(await api.request('HEAD', '/v1/pets'))).toStrictEqual({
      ...forbidden('pets:read'),
      body: '',
    });
  });

  test('does not get, whether the pet exists or not: 403', async () => {
    await using api = await startWith('pets:write');
    await api.post(petBody());
    for (const id of ['1', '2', 'x']) {
      const answer = whole(await api.get(`/v1/pets/${id}`));
      expect(answer).toStrictEqual(forbidden('pets:read', deprecation(api)));
    }
  });
});

test('a key with all scopes may do everything', async () => {
  await using api = await startWith('pets:read', 'pets:write');
  expect((await api.post(petBody())).status).toBe(201);
  expect((await api.get('/v1/pets')).body).toBe(`[${REX}]`);
  expect((await api.get('/v1/pets/1')).body).toBe(REX);
});

describe('anything but an operation needs no scope', () => {
  test.each([
    ['OPTIONS', '/v1/pets', 204],
    ['OPTIONS', '/v1/pets/1', 204],
    ['DELETE', '/v1/pets', 405],
    ['POST', '/v1/pets/1', 405],
    ['GET', '/v1/nothing', 404],
    ['GET', '/livez', 200],
  ])('%s %s: %i', async (method, path, status) => {
    await using api = await startWith();
    expect((await api.request(method, path)).status).toBe(status);
  });
});
