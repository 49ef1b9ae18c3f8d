import { describe, expect, onTestFinished, test } from 'vitest';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import { problem, success, whole } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { FailingPetRepository, petBody, stored } from '../../support/pets.ts';
import { damage, newFile, silentLog } from '../../support/sqlite.ts';

const MESSAGE = 'a stored record is damaged; it has been logged under this request id';

/** Four pets, the third of them damaged. */
async function withDamage() {
  const file = await newFile();
  const { pets, close } = await openSqliteStorage(file, silentLog);
  onTestFinished(close);
  await stored(pets, { name: 'a' }, { name: 'b' });
  const api = await startApi({ pets, publicUrl: 'https://petstore.example' });
  onTestFinished(() => api[Symbol.asyncDispose]());
  await api.post(petBody({ name: '"c"' }), KEY);
  await stored(pets, { name: 'd' });
  damage(file, `UPDATE pets SET status = 'sold"' WHERE id = 3`);
  return api;
}

const KEY = { 'idempotency-key': 'once' };
const ID = { 'x-request-id': 'the-damaged-one' };
const LOGGED = {
  requestId: 'the-damaged-one',
  error: expect.objectContaining({ kind: 'damaged-pet', id: 3n }),
};

function json(id: number, name: string): string {
  return `{"id":${id},"name":"${name}","categoryId":7,"status":"available"}`;
}

function next(query: string, after: number): { link: string; 'next-cursor': string } {
  const cursor = `v1.${after.toString(16).padStart(16, '0')}`;
  const link = `<https://petstore.example/v1/pets?${query}&cursor=${cursor}>; rel="next"`;
  return { link, 'next-cursor': cursor };
}

describe('a damaged pet', () => {
  test('ends the page before it, and following the links misses no other pet', async () => {
    const api = await withDamage();

    const first = await api.get('/v1/pets');
    expect(whole(first)).toStrictEqual(
      success(200, `[${json(1, 'a')},${json(2, 'b')}]`, next('limit=20', 2)),
    );
    expect(api.log.failures).toStrictEqual([]);

    const [, path = ''] = /petstore\.example([^>]*)/.exec(String(first.headers['link'])) ?? [];
    const second = await api.get(path, ID);
    expect(whole(second)).toStrictEqual(
      problem(503, 'UNAVAILABLE', MESSAGE, { 'retry-after': '2', ...next('limit=20', 3) }),
    );
    expect(api.log.failures).toStrictEqual([LOGGED]);

    const [, last = ''] = /petstore\.example([^>]*)/.exec(String(second.headers['link'])) ?? [];
    expect(whole(await api.get(last))).toStrictEqual(success(200, `[${json(4, 'd')}]`));
  });

  // Otherwise a client that follows the link would loop for ever.
  test.each([
    ['at the beginning', 3, '', next('limit=20', 3)],
    ['at the beginning, of id 0', 0, '', next('limit=20', 0)],
    ['in front of it', 3, `?cursor=v1.${'2'.padStart(16, '0')}`, next('limit=20', 3)],
    ['of another limit', 3, '?limit=7', next('limit=7', 3)],
    ['at its own place', 3, `?cursor=v1.${'3'.padStart(16, '0')}`, {}],
    ['behind it', 3, `?cursor=v1.${'4'.padStart(16, '0')}`, {}],
  ])(
    'has a link past it only if that leads forwards: from a page that begins %s',
    async (_, id, query, link) => {
      const pets = new FailingPetRepository(new DamagedPet(BigInt(id), 'its name is empty'));
      await using api = await startApi({ pets, publicUrl: 'https://petstore.example' });
      expect(whole(await api.get(`/v1/pets${query}`))).toStrictEqual(
        problem(503, 'UNAVAILABLE', MESSAGE, { 'retry-after': '2', ...link }),
      );
    },
  );

  test('is 503 by its id', async () => {
    const api = await withDamage();
    const answer = whole(await api.get('/v1/pets/3', ID));
    expect(answer.status).toBe(503);
    expect(answer.body).toBe(JSON.stringify({ code: 'UNAVAILABLE', message: MESSAGE, status: 503 }));
    expect(answer.headers['link']).toBe(
      '<https://petstore.example/docs#getPet>; rel="deprecation"; type="text/html"',
    );
    expect(api.log.failures).toStrictEqual([LOGGED]);
  });

  test('is 503 for a retry of its request, which creates no second pet', async () => {
    const api = await withDamage();
    const answer = await api.post(petBody({ name: '"c"' }), { ...KEY, ...ID });
    expect(whole(answer)).toStrictEqual(problem(503, 'UNAVAILABLE', MESSAGE, { 'retry-after': '2' }));
    expect(api.log.failures).toStrictEqual([LOGGED]);
    expect((await api.get('/v1/pets/5')).status).toBe(404);
  });
});
