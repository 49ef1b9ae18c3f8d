import { expect, test } from 'vitest';
import { getPet } from '../../../src/adapters/http/operations/get-pet.ts';
import { listPets } from '../../../src/adapters/http/operations/list-pets.ts';
import { announceDeprecations } from '../../../src/adapters/http/operations/operations.ts';
import { announced, CREATED, problem, REX, success, whole } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { FailingPetRepository, petBody } from '../../support/pets.ts';

const SUNSET = '2030-12-05T00:00:00.000Z';

test('the deprecation of getPet has the dates of the specification', () => {
  const { deprecation = '', sunset = '' } = announced('');
  expect(new Date(Number(deprecation.slice(1)) * 1000).toISOString()).toBe('2026-11-20T00:00:00.000Z');
  expect(new Date(sunset).toISOString()).toBe(SUNSET);
});

// The tests of the operation and of the routes have the others, and the answers that announce nothing.
test.each([
  ['GET', 401, '/v1/pets/1', { authorization: undefined }],
  ['GET', 414, `/v1/pets/1?${'x'.repeat(8192)}`, {}],
  ['HEAD', 500, '/v1/pets/1', {}],
])('every answer of the path announces the deprecation: %s: %i', async (method, status, path, headers) => {
  await using api = await startApi({ pets: new FailingPetRepository(new Error('a bug')) });
  const answer = await api.request(method, path, { headers });
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject(announced(api.url));
});

test('another operation of the same path announces no deprecation', async () => {
  const removePet = { ...listPets, route: getPet.route, methods: ['DELETE'] };
  const announce = announceDeprecations([getPet, removePet], () => 'http://petstore.example');
  const announcedOn = async (method: string) => {
    const headers = {};
    const set = (more: object) => void Object.assign(headers, more);
    await announce({ method, path: '/v1/pets/1', set } as never, async () => {});
    return headers;
  };
  expect(await announcedOn('DELETE')).toStrictEqual({});
  expect(Object.keys(await announcedOn('PUT'))).toStrictEqual(['Deprecation', 'Sunset', 'Link']);
});

test('the sunset removes getPet, and every reference to it, at its exact time', async () => {
  let now = '2030-12-04T23:59:59.999Z';
  await using api = await startApi({ now: () => new Date(now) });
  expect(whole(await api.post(petBody()))).toStrictEqual(CREATED);
  expect(whole(await api.get('/v1/pets/1'))).toStrictEqual(success(200, REX, announced(api.url)));
  now = SUNSET;
  expect(whole(await api.post(petBody()))).toStrictEqual(success(201, REX.replace('1', '2')));
  const message = 'this operation was removed on 2030-12-05; use GET /v1/pets';
  for (const id of ['1', '3', 'x?y']) {
    expect(whole(await api.get(`/v1/pets/${id}`))).toStrictEqual(
      problem(410, 'GONE', message, announced(api.url)),
    );
  }
});
