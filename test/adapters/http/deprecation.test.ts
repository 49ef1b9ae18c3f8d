import { expect, test } from 'vitest';
import { getPet } from '../../../src/adapters/http/operations/get-pet.ts';
import { listPets } from '../../../src/adapters/http/operations/list-pets.ts';
import { announceDeprecations } from '../../../src/adapters/http/operations/operations.ts';
import { sunsetHeaders, CREATED, problem, REX, success, brief } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { FailingPetRepository, petBody } from '../../support/pets.ts';

/** The instant from which on getPet is removed. */
const SUNSET = '2030-12-05T00:00:00.000Z';

test('the headers that the tests expect for getPet mean the dates 2026-11-20 and 2030-12-05', () => {
  const { deprecation = '', sunset = '' } = sunsetHeaders('');
  expect(new Date(Number(deprecation.slice(1)) * 1000).toISOString()).toBe('2026-11-20T00:00:00.000Z');
  expect(new Date(sunset).toISOString()).toBe(SUNSET);
});

// get-pet.test.ts and routing.test.ts test more answers with the deprecation headers, and answers without them.
test.each([
  ['GET', 401, '/v1/pets/1', { authorization: undefined }],
  ['GET', 414, `/v1/pets/1?${'x'.repeat(8192)}`, {}],
  ['HEAD', 500, '/v1/pets/1', {}],
])('the answer to %s with %i announces the deprecation of getPet', async (method, status, path, headers) => {
  await using api = await startApi({ pets: new FailingPetRepository(new Error('a bug')) });
  const answer = await api.request(method, path, { headers });
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject(sunsetHeaders(api.url));
});

// `removePet` stands for an operation that a later release may add.
test('another operation on the path of getPet announces no deprecation, but a 405 on this path announces it', async () => {
  const removePet = { ...listPets, route: getPet.route, methods: ['DELETE'] };
  const announce = announceDeprecations([getPet, removePet], () => 'http://petstore.example');
  const headersOf = async (method: string) => {
    const headers = {};
    const set = (fields: object) => void Object.assign(headers, fields);
    await announce({ method, path: '/v1/pets/1', set } as never, async () => {});
    return headers;
  };
  expect(await headersOf('DELETE')).toStrictEqual({});
  expect(Object.keys(await headersOf('PUT'))).toStrictEqual(['Deprecation', 'Sunset', 'Link']);
});

test('exactly at the sunset, getPet begins to answer 410, and createPet stops sending a Location', async () => {
  let now = '2030-12-04T23:59:59.999Z';
  await using api = await startApi({ now: () => new Date(now) });
  expect(brief(await api.post(petBody()))).toStrictEqual(CREATED);
  expect(brief(await api.get('/v1/pets/1'))).toStrictEqual(success(200, REX, sunsetHeaders(api.url)));
  now = SUNSET;
  expect(brief(await api.post(petBody()))).toStrictEqual(success(201, REX.replace('1', '2')));
  const message = 'this operation was removed on 2030-12-05; use GET /v1/pets';
  for (const id of ['1', '3', 'x?y']) {
    expect(brief(await api.get(`/v1/pets/${id}`))).toStrictEqual(
      problem(410, 'GONE', message, sunsetHeaders(api.url)),
    );
  }
});
