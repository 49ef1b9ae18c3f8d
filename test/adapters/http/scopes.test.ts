import { expect, test } from 'vitest';
import type { Scope } from '../../../src/domain/api-key.ts';
import { sunsetHeaders, CREATED, problem, success, brief } from '../../support/answer.ts';
import { type Api, keyWith, startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';

/** Starts the service. The API key of the tests has these scopes. */
async function startWithScopes(...scopes: readonly Scope[]): Promise<Api> {
  return startApi({ tokens: keyWith({ scopes }) });
}

function forbiddenAnswer(scope: Scope, headers: Record<string, string> = {}): ReturnType<typeof brief> {
  return problem(403, 'PERMISSION_DENIED', `the API key does not have the scope ${scope}`, {
    'www-authenticate': `Bearer realm="petstore", error="insufficient_scope", scope="${scope}"`,
    ...headers,
  });
}

test('a key with only the scope pets:read can list and get pets, and a create request is answered with 403', async () => {
  await using api = await startWithScopes('pets:read');
  expect(brief(await api.post(petBody()))).toStrictEqual(forbiddenAnswer('pets:write'));
  expect(brief(await api.get('/v1/pets'))).toStrictEqual(success(200, '[]'));
  expect(brief(await api.request('HEAD', '/v1/pets'))).toStrictEqual(success(200, ''));
  expect((await api.get('/v1/pets/1')).status).toBe(404);
});

test('a key with only the scope pets:write can create pets, and a list or get request is answered with 403, even for an id that no pet has', async () => {
  await using api = await startWithScopes('pets:write');
  expect(brief(await api.post(petBody()))).toStrictEqual(CREATED);
  const expected = forbiddenAnswer('pets:read');
  expect(brief(await api.get('/v1/pets'))).toStrictEqual(expected);
  expect(brief(await api.request('HEAD', '/v1/pets'))).toStrictEqual({ ...expected, body: '' });
  for (const id of ['1', '2', 'x']) {
    const answer = brief(await api.get(`/v1/pets/${id}`));
    expect(answer).toStrictEqual(forbiddenAnswer('pets:read', sunsetHeaders(api.url)));
  }
});
