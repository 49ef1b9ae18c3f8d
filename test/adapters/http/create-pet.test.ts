import { expect, test } from 'vitest';
import { MAX_PET_ID, PET_STATUSES } from '../../../src/domain/pet.ts';
import { invalid, problem, success, whole } from '../../support/answer.ts';
import { petsAfter } from '../../support/archived-pets.ts';
import { startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';

const STATUS = 'status must be one of available, pending, sold';

test.each([
  ['the least there can be', petBody(), 'Rex'],
  [
    'a name that is neither trimmed nor normalised',
    petBody({ name: '"  e\\u0301 \u00e9 "' }),
    '  e\u0301 \u00e9 ',
  ],
  ['escapes', petBody({ name: '"\\u0052\\ud83d\\udc15\\/\\"\\\\"' }), 'R🐕/"\\'],
  [
    'further fields',
    petBody({ id: '99', tags: '[1,{"a":null}]', ['__proto__']: '{"status":"sold"}' }),
    'Rex',
  ],
  ['a field twice: the last one', '{"name":"a","name":"b","categoryId":1,"categoryId":7}', 'b'],
])('the answer is the pet, and the pet is stored: %s', async (_, body, name) => {
  await using api = await startApi();
  const pet = `{"id":1,"name":${JSON.stringify(name)},"categoryId":7,"status":"available"}`;
  expect(whole(await api.post(body))).toStrictEqual(success(201, pet, { location: '/v1/pets/1' }));
  expect((await api.get('/v1/pets')).body).toBe(`[${pet}]`);
  expect((await api.get('/v1/pets/1')).body).toBe(pet);
});

test.each(PET_STATUSES)('a pet may have the status %s from the start', async (status) => {
  await using api = await startApi();
  const pet = `{"id":1,"name":"Rex","categoryId":7,"status":"${status}"}`;
  expect((await api.post(petBody({ status: `"${status}"` }))).body).toBe(pet);
  expect((await api.get('/v1/pets')).body).toBe(`[${pet}]`);
});

// test/domain/pet-name.test.ts has every rule of a name.
test.each([
  ['{}', 'name is required; categoryId is required'],
  [petBody({ name: '""' }), 'name must not be empty'],
  [petBody({ name: '"\\ud83d"' }), 'name must be well-formed Unicode, without lone surrogates'],
  [petBody({ name: 'null' }), 'name must be a string'],
  [petBody({ status: '"Sold"' }), STATUS],
  [petBody({ status: '"toString"' }), STATUS],
  ['{"__proto__":{"name":"Rex","categoryId":7}}', 'name is required; categoryId is required'],
  ['{"NAME":"Rex","categoryId":7}', 'name is required'],
  [
    '{"name":" ","categoryId":"7","status":null}',
    'name must contain a character that is not white space; ' +
      `categoryId must be an integer in the range of int64; ${STATUS}`,
  ],
])('a broken rule: 400 naming every field, and nothing is created: %j', async (body, message) => {
  await using api = await startApi();
  expect(whole(await api.post(body))).toStrictEqual(invalid(message));
  expect((await api.get('/v1/pets')).body).toBe('[]');
});

test('ids begin at 1 and increase, whatever is refused in between', async () => {
  await using api = await startApi();
  const locations = [];
  for (const body of [petBody(), '{}', petBody(), petBody({ id: '1' })]) {
    locations.push((await api.post(body)).headers['location']);
  }
  expect(locations).toStrictEqual(['/v1/pets/1', undefined, '/v1/pets/2', '/v1/pets/3']);
});

test.each([
  ['https://petstore.example', '/v1/pets/1'],
  ['https://petstore.example/api', '/api/v1/pets/1'],
])('behind the PUBLIC_URL %s, the Location is %s', async (publicUrl, location) => {
  await using api = await startApi({ publicUrl });
  expect((await api.post(petBody())).headers['location']).toBe(location);
});

test('a query parameter is refused, and nothing is created', async () => {
  await using api = await startApi();
  const headers = { 'content-type': 'application/json' };
  const answer = await api.request('POST', '/v1/pets?dry=1&limit=5', { headers, body: petBody() });
  const message = 'dry is not a parameter of this operation; limit is not a parameter of this operation';
  expect(whole(answer)).toStrictEqual(invalid(message));
  expect((await api.get('/v1/pets')).body).toBe('[]');
});

test('after the last id comes a clear error', async () => {
  await using api = await startApi({ pets: await petsAfter(MAX_PET_ID - 1n) });
  const last = await api.post(petBody());
  expect(last.headers['location']).toBe('/v1/pets/9007199254740991');
  expect(whole(await api.post(petBody()))).toStrictEqual(
    problem(503, 'UNAVAILABLE', 'no ids are left for new pets; it has been logged under this request id', {
      'retry-after': '2',
    }),
  );
  expect(api.log.failures).toMatchObject([{ error: { kind: 'pet-ids-exhausted' } }]);
});
