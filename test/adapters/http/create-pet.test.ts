import { expect, test } from 'vitest';
import { MAX_PET_ID, PET_STATUSES } from '../../../src/domain/pet.ts';
import { invalid, problem, success, brief } from '../../support/answer.ts';
import { emptyRepositoryAfter } from '../../support/archived-pets.ts';
import { startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';

const INT64_MESSAGE = 'categoryId must be an integer in the range of int64';
const STATUS_MESSAGE = 'status must be one of available, pending, sold';

/** The JSON that the service returns for the first pet. Each argument is a JSON text. */
const firstPetJson = ({ name = '"Rex"', categoryId = '7', status = '"available"' }) =>
  `{"id":1,"name":${name},"categoryId":${categoryId},"status":${status}}`;

// More ways to write a number are tested in test/adapters/json.
test.each<readonly [string, Parameters<typeof firstPetJson>[0]]>([
  [petBody(), {}],
  // The service does not trim a name, and does not normalise its Unicode characters.
  [petBody({ name: '"  e\\u0301 \u00e9 "' }), { name: '"  e\u0301 \u00e9 "' }],
  [petBody({ name: '"\\u0052\\ud83d\\udc15\\/\\"\\\\"' }), { name: JSON.stringify('R🐕/"\\') }],
  [petBody({ id: '99', tags: '[1,{"a":null}]', ['__proto__']: '{"status":"sold"}' }), {}],
  // If two fields have the same name, createPet uses the last field.
  ['{"name":"a","name":"b","categoryId":1,"categoryId":7}', { name: '"b"' }],
  ...PET_STATUSES.map((status) => [petBody({ status: `"${status}"` }), { status: `"${status}"` }] as const),
  [petBody({ categoryId: '-0' }), { categoryId: '0' }],
  [petBody({ categoryId: '1.5e1' }), { categoryId: '15' }],
  [petBody({ categoryId: '-9007199254740993' }), { categoryId: '-9007199254740993' }],
  [petBody({ categoryId: '9223372036854775807' }), { categoryId: '9223372036854775807' }],
  [petBody({ categoryId: '-9223372036854775808.000e0' }), { categoryId: '-9223372036854775808' }],
])('createPet stores and returns the exact values of the pet %s', async (body, fields) => {
  await using api = await startApi();
  const pet = firstPetJson(fields);
  expect(brief(await api.post(body))).toStrictEqual(success(201, pet, { location: '/v1/pets/1' }));
  expect((await api.get('/v1/pets')).body).toBe(`[${pet}]`);
  expect((await api.get('/v1/pets/1')).body).toBe(pet);
});

const refusedCategoryId = (categoryId: string) => [petBody({ categoryId }), INT64_MESSAGE] as const;

// All rules of a name are tested in test/domain/pet-name.test.ts.
test.each<readonly [string, string]>([
  ['{}', 'name is required; categoryId is required'],
  [petBody({ name: '""' }), 'name must not be empty'],
  [petBody({ name: '"\\ud83d"' }), 'name must be well-formed Unicode, without lone surrogates'],
  [petBody({ name: 'null' }), 'name must be a string'],
  [petBody({ status: '"Sold"' }), STATUS_MESSAGE],
  [petBody({ status: '"toString"' }), STATUS_MESSAGE],
  ['{"__proto__":{"name":"Rex","categoryId":7}}', 'name is required; categoryId is required'],
  ['{"NAME":"Rex","categoryId":7}', 'name is required'],
  [
    '{"name":" ","categoryId":"7","status":null}',
    `name must contain a character that is not white space; ${INT64_MESSAGE}; ${STATUS_MESSAGE}`,
  ],
  ...['1.5', '9223372036854775808', '-9223372036854775809', '1e19', '1e999999999'].map(refusedCategoryId),
  ...['"7"', 'null', 'true', '[7]', '{"$numberLong":"7"}'].map(refusedCategoryId),
])('createPet answers 400, names every wrong field, and creates nothing: %j', async (body, message) => {
  await using api = await startApi();
  expect(brief(await api.post(body))).toStrictEqual(invalid(message));
  expect((await api.get('/v1/pets')).body).toBe('[]');
});

test.each([
  ['https://petstore.example', '/v1/pets/1'],
  ['https://petstore.example/api', '/api/v1/pets/1'],
])('if PUBLIC_URL is %s, the Location of the first pet is %s', async (publicUrl, location) => {
  await using api = await startApi({ publicUrl });
  expect((await api.post(petBody())).headers['location']).toBe(location);
});

test('createPet answers 503 and names the reason when no id is left', async () => {
  await using api = await startApi({ pets: await emptyRepositoryAfter(MAX_PET_ID - 1n) });
  const lastCreated = await api.post(petBody());
  expect(lastCreated.headers['location']).toBe('/v1/pets/9007199254740991');
  expect(brief(await api.post(petBody()))).toStrictEqual(
    problem(503, 'UNAVAILABLE', 'no ids are left for new pets; it has been logged under this request id', {
      'retry-after': '2',
    }),
  );
  expect(api.log.failures).toMatchObject([{ error: { kind: 'pet-ids-exhausted' } }]);
});
