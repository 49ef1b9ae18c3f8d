import { expect, test } from 'vitest';
import { MAX_PET_ID, PET_STATUSES } from '../../../src/domain/pet.ts';
import { invalid, problem, success, whole } from '../../support/answer.ts';
import { petsAfter } from '../../support/archived-pets.ts';
import { startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';

const INT64 = 'categoryId must be an integer in the range of int64';
const STATUS = 'status must be one of available, pending, sold';

/** The first pet, as the service writes it. The fields are JSON. */
const petOf = ({ name = '"Rex"', categoryId = '7', status = '"available"' }) =>
  `{"id":1,"name":${name},"categoryId":${categoryId},"status":${status}}`;

// test/adapters/json has every way to write a number.
test.each<readonly [string, Parameters<typeof petOf>[0]]>([
  [petBody(), {}],
  // Neither trimmed nor normalised.
  [petBody({ name: '"  e\\u0301 \u00e9 "' }), { name: '"  e\u0301 \u00e9 "' }],
  [petBody({ name: '"\\u0052\\ud83d\\udc15\\/\\"\\\\"' }), { name: JSON.stringify('R🐕/"\\') }],
  [petBody({ id: '99', tags: '[1,{"a":null}]', ['__proto__']: '{"status":"sold"}' }), {}],
  // The last of two fields with one name.
  ['{"name":"a","name":"b","categoryId":1,"categoryId":7}', { name: '"b"' }],
  ...PET_STATUSES.map((status) => [petBody({ status: `"${status}"` }), { status: `"${status}"` }] as const),
  [petBody({ categoryId: '-0' }), { categoryId: '0' }],
  [petBody({ categoryId: '1.5e1' }), { categoryId: '15' }],
  [petBody({ categoryId: '-9007199254740993' }), { categoryId: '-9007199254740993' }],
  [petBody({ categoryId: '9223372036854775807' }), { categoryId: '9223372036854775807' }],
  [petBody({ categoryId: '-9223372036854775808.000e0' }), { categoryId: '-9223372036854775808' }],
])('createPet stores the pet and answers with it, with every digit: %s', async (body, fields) => {
  await using api = await startApi();
  const pet = petOf(fields);
  expect(whole(await api.post(body))).toStrictEqual(success(201, pet, { location: '/v1/pets/1' }));
  expect((await api.get('/v1/pets')).body).toBe(`[${pet}]`);
  expect((await api.get('/v1/pets/1')).body).toBe(pet);
});

const notInt64 = (categoryId: string) => [petBody({ categoryId }), INT64] as const;

// test/domain/pet-name.test.ts has every rule of a name.
test.each<readonly [string, string]>([
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
    `name must contain a character that is not white space; ${INT64}; ${STATUS}`,
  ],
  ...['1.5', '9223372036854775808', '-9223372036854775809', '1e19', '1e999999999'].map(notInt64),
  ...['"7"', 'null', 'true', '[7]', '{"$numberLong":"7"}'].map(notInt64),
])('createPet answers 400, names every wrong field, and creates nothing: %j', async (body, message) => {
  await using api = await startApi();
  expect(whole(await api.post(body))).toStrictEqual(invalid(message));
  expect((await api.get('/v1/pets')).body).toBe('[]');
});

test.each([
  ['https://petstore.example', '/v1/pets/1'],
  ['https://petstore.example/api', '/api/v1/pets/1'],
])('with the PUBLIC_URL %s, the Location is %s', async (publicUrl, location) => {
  await using api = await startApi({ publicUrl });
  expect((await api.post(petBody())).headers['location']).toBe(location);
});

test('createPet answers 503 with a clear message after the last id', async () => {
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
