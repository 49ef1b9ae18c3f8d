import { expect, test } from 'vitest';
import type { Scope } from '../../../src/domain/api-key.ts';
import { announced, CREATED, problem, success, whole } from '../../support/answer.ts';
import { type Api, keyWith, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';

/** The service, with these scopes for the key of the tests. */
async function startWith(...scopes: readonly Scope[]): Promise<Api> {
  return startApi({ tokens: keyWith({ scopes }) });
}

function forbidden(scope: Scope, headers: Record<string, string> = {}): ReturnType<typeof whole> {
  return problem(403, 'PERMISSION_DENIED', `the API key does not have the scope ${scope}`, {
    'www-authenticate': `Bearer realm="petstore", error="insufficient_scope", scope="${scope}"`,
    ...headers,
  });
}

test('a key that may only read can list and get pets, and is answered with 403 when it creates a pet', async () => {
  await using api = await startWith('pets:read');
  expect(whole(await api.post(petBody()))).toStrictEqual(forbidden('pets:write'));
  expect(whole(await api.get('/v1/pets'))).toStrictEqual(success(200, '[]'));
  expect(whole(await api.request('HEAD', '/v1/pets'))).toStrictEqual(success(200, ''));
  expect((await api.get('/v1/pets/1')).status).toBe(404);
});

test('a key that may only write can create pets, and is answered with 403 when it lists or gets pets, existing or not', async () => {
  await using api = await startWith('pets:write');
  expect(whole(await api.post(petBody()))).toStrictEqual(CREATED);
  const expected = forbidden('pets:read');
  expect(whole(await api.get('/v1/pets'))).toStrictEqual(expected);
  expect(whole(await api.request('HEAD', '/v1/pets'))).toStrictEqual({ ...expected, body: '' });
  for (const id of ['1', '2', 'x']) {
    const answer = whole(await api.get(`/v1/pets/${id}`));
    expect(answer).toStrictEqual(forbidden('pets:read', announced(api.url)));
  }
});
