import { describe, expect, test } from 'vitest';
import { getPet } from '../../../src/adapters/http/operations/get-pet.ts';
import { listPets } from '../../../src/adapters/http/operations/list-pets.ts';
import { announceDeprecations } from '../../../src/adapters/http/operations/operations.ts';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { problem, success, whole } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { FailingPetRepository, petBody, stored } from '../../support/pets.ts';

const SUNSET = '2030-12-05T00:00:00.000Z';
const BEFORE = () => new Date('2030-12-04T23:59:59.999Z');
const AT = () => new Date(SUNSET);
const AFTER = () => new Date('2031-06-01T00:00:00Z');

function announced(base: string): Record<string, string> {
  return {
    deprecation: '@1795132800',
    sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
    link: `<${base}/docs#getPet>; rel="deprecation"; type="text/html"`,
  };
}

test('the dates are those of the specification', () => {
  const { deprecation = '', sunset = '' } = announced('');
  expect(new Date(Number(deprecation.slice(1)) * 1000).toISOString()).toBe('2026-11-20T00:00:00.000Z');
  expect(new Date(sunset).toISOString()).toBe(SUNSET);
});

describe('every answer of the path announces it', () => {
  test.each([
    ['GET', 200, '/v1/pets/1', {}],
    ['HEAD', 200, '/v1/pets/1', {}],
    ['OPTIONS', 204, '/v1/pets/1', {}],
    ['GET', 400, '/v1/pets/1?x=1', {}],
    ['GET', 400, '/v1/pets/x', {}],
    ['GET', 401, '/v1/pets/1', { authorization: undefined }],
    ['GET', 401, '/v1/pets/1', { authorization: 'Bearer wrong' }],
    ['DELETE', 401, '/v1/pets/1', { authorization: undefined }],
    ['GET', 404, '/v1/pets/2', {}],
    ['POST', 405, '/v1/pets/1', {}],
    ['TRACE', 405, '/v1/pets/1', {}],
    ['GET', 414, `/v1/pets/1?${'x'.repeat(8192)}`, {}],
  ])('%s: %i', async (method, status, path, headers) => {
    const pets = new InMemoryPetRepository();
    await stored(pets, {});
    await using api = await startApi({ pets });
    const answer = await api.request(method, path, { headers });
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject(announced(api.url));
  });

  test('including a 500', async () => {
    await using api = await startApi({ pets: new FailingPetRepository(new Error('a bug')) });
    const answer = await api.get('/v1/pets/1');
    expect(answer.status).toBe(500);
    expect(answer.headers).toMatchObject(announced(api.url));
  });

  test('with the public URL, if it is set', async () => {
    await using api = await startApi({ publicUrl: 'https://petstore.example' });
    expect((await api.get('/v1/pets/1')).headers).toMatchObject(announced('https://petstore.example'));
  });
});

test.each(['/v1/pets', '/v1/pets/', '/v1/pets/1/toys', '/x/v1/pets/1', '/livez', '/v1'])(
  'no answer of %s announces anything',
  async (path) => {
    await using api = await startApi();
    const { headers } = await api.get(path);
    expect(Object.keys(headers)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(deprecation|sunset|link)$/)]),
    );
  },
);

test('another operation on the path announces nothing', async () => {
  const removePet = { ...listPets, path: getPet.path, methods: ['DELETE'] };
  const announce = announceDeprecations([getPet, removePet], () => 'http://petstore.example');
  const announcedOn = async (method: string) => {
    const state = { headers: {} };
    await announce({ method, path: '/v1/pets/1', state } as never, async () => {});
    return state.headers;
  };
  expect(await announcedOn('DELETE')).toStrictEqual({});
  expect(Object.keys(await announcedOn('PUT'))).toStrictEqual(['Deprecation', 'Sunset', 'Link']);
});

describe('the sunset', () => {
  const REX = '{"id":1,"name":"Rex","categoryId":7,"status":"available"}';
  const GONE = 'this operation was removed on 2030-12-05; use GET /v1/pets';

  test('a millisecond before, nothing has changed', async () => {
    await using api = await startApi({ now: BEFORE });
    expect(whole(await api.post(petBody()))).toStrictEqual(success(201, REX, { location: '/v1/pets/1' }));
    expect(whole(await api.get('/v1/pets/1'))).toStrictEqual(success(200, REX, announced(api.url)));
  });

  test.each([
    ['from its instant on', AT],
    ['afterwards', AFTER],
  ])('%s, getPet is gone and nothing points to it', async (_, now) => {
    await using api = await startApi({ now });
    expect(whole(await api.post(petBody()))).toStrictEqual(success(201, REX));
    expect((await api.get('/v1/pets')).body).toBe(`[${REX}]`);
    for (const id of ['1', '2', 'x']) {
      expect(whole(await api.get(`/v1/pets/${id}`))).toStrictEqual(
        problem(410, 'GONE', GONE, announced(api.url)),
      );
    }
    expect(whole(await api.request('HEAD', '/v1/pets/1'))).toStrictEqual({
      status: 410,
      headers: announced(api.url),
      body: '',
    });
  });

  test('while the service runs', async () => {
    let now = BEFORE();
    await using api = await startApi({ now: () => now });
    await api.post(petBody());
    expect((await api.get('/v1/pets/1')).status).toBe(200);
    now = AT();
    expect((await api.get('/v1/pets/1')).status).toBe(410);
  });
});
