import { expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { sunsetHeaders, INTERNAL, UNAVAILABLE, brief } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { FailingPetRepository, petBody } from '../../support/pets.ts';

const SECRET = 'mongodb://root:hunter2@db.internal';

const REQUEST_ID = { 'x-request-id': 'the-failing-one' };

test.each([
  ['GET', '/v1/pets'],
  ['POST', '/v1/pets'],
  ['GET', '/v1/pets/:petId'],
])('while the storage is unavailable, the answer is 503 with Retry-After: %s %s', async (method, route) => {
  const error = new StorageUnavailable(SECRET, { cause: new Error(SECRET) });
  await using api = await startApi({ pets: new FailingPetRepository(error) });
  const deprecation = route === '/v1/pets/:petId' && sunsetHeaders(api.url);
  const path = route.replace(':petId', '1');
  const answer = await (method === 'POST' ? api.post(petBody(), REQUEST_ID) : api.get(path, REQUEST_ID));
  expect(brief(answer)).toStrictEqual({
    ...UNAVAILABLE,
    headers: { ...UNAVAILABLE.headers, ...deprecation },
  });
  expect(api.log.failures).toStrictEqual([{ error, requestId: 'the-failing-one' }]);
});

class HttpLikeError extends Error {
  readonly kind = 'constructor';
  readonly status = 418;
  readonly expose = true;
  readonly headers = { 'x-secret': SECRET };
}

test.each<readonly [string, unknown]>([
  ['an error that looks like an HTTP error', new HttpLikeError(SECRET)],
  ['an error with a code', Object.assign(new Error(SECRET), { code: 'ENOSPC', syscall: 'write' })],
  ['an object that is no Error', { kind: 'pet-not-found', message: SECRET }],
  ['undefined', undefined],
])('if the storage rejects with %s, a 500 without details is sent, and logged once', async (_, error) => {
  await using api = await startApi({ pets: new FailingPetRepository(error) });
  expect(brief(await api.get('/v1/pets', REQUEST_ID))).toStrictEqual(INTERNAL);
  expect(api.log.failures).toStrictEqual([{ error, requestId: 'the-failing-one' }]);
  expect(await api.log.record(0)).toMatchObject({ requestId: 'the-failing-one', status: 500 });
  expect((await api.get('/livez')).status).toBe(200);
});
