import { expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { announced, INTERNAL, UNAVAILABLE, whole } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { FailingPetRepository, petBody } from '../../support/pets.ts';

const SECRET = 'mongodb://root:hunter2@db.internal';

const ID = { 'x-request-id': 'the-failing-one' };

test.each([
  ['GET', '/v1/pets'],
  ['POST', '/v1/pets'],
  ['GET', '/v1/pets/:petId'],
])('an unavailable storage is 503 with Retry-After: %s %s', async (method, route) => {
  const error = new StorageUnavailable(SECRET, { cause: new Error(SECRET) });
  await using api = await startApi({ pets: new FailingPetRepository(error) });
  const more = route === '/v1/pets/:petId' && announced(api.url);
  const path = route.replace(':petId', '1');
  const answer = await (method === 'POST' ? api.post(petBody(), ID) : api.get(path, ID));
  expect(whole(answer)).toStrictEqual({
    ...UNAVAILABLE,
    headers: { ...UNAVAILABLE.headers, ...more },
  });
  expect(api.log.failures).toStrictEqual([{ error, requestId: 'the-failing-one' }]);
});

class Lookalike extends Error {
  readonly kind = 'constructor';
  readonly status = 418;
  readonly expose = true;
  readonly headers = { 'x-secret': SECRET };
}

test.each<readonly [string, unknown]>([
  ['an error that looks like one of HTTP', new Lookalike(SECRET)],
  ['an error with a code', Object.assign(new Error(SECRET), { code: 'ENOSPC', syscall: 'write' })],
  ['an object', { kind: 'pet-not-found', message: SECRET }],
  ['nothing', undefined],
])('a bug is 500, reveals nothing and is logged once: %s', async (_, error) => {
  await using api = await startApi({ pets: new FailingPetRepository(error) });
  expect(whole(await api.get('/v1/pets', ID))).toStrictEqual(INTERNAL);
  expect(api.log.failures).toStrictEqual([{ error, requestId: 'the-failing-one' }]);
  expect(await api.log.record(0)).toMatchObject({ requestId: 'the-failing-one', status: 500 });
  expect((await api.get('/livez')).status).toBe(200);
});
