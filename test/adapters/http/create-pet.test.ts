import { describe, expect, test } from 'vitest';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { problem, success, whole } from '../../support/answer.ts';
import { petsAfter } from '../../support/archived-pets.ts';
import { startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';

const STATUS = 'status must be one of available, pending, sold';
const CATEGORY = 'categoryId must be an integer in the range of int64';

function created(id: number, fields: { name: string; categoryId?: string; status?: string }) {
  const { name, categoryId = '7', status = 'available' } = fields;
  return success(201, `{"id":${id},"name":${name},"categoryId":${categoryId},"status":"${status}"}`, {
    location: `/v1/pets/${id}`,
  });
}

describe('the answer is the pet, and the pet is stored', () => {
  test.each([
    ['the least there can be', petBody(), { name: '"Rex"' }],
    ['available', petBody({ status: '"available"' }), { name: '"Rex"' }],
    ['pending', petBody({ status: '"pending"' }), { name: '"Rex"', status: 'pending' }],
    ['sold', petBody({ status: '"sold"' }), { name: '"Rex"', status: 'sold' }],
    ['white space in the JSON', ` \r\n\t${petBody({ name: ' "Rex" ' })}\n`, { name: '"Rex"' }],
    ['white space around the name', petBody({ name: '"  Rex "' }), { name: '"  Rex "' }],
    ['one character', petBody({ name: '"x"' }), { name: '"x"' }],
    ['255 characters', petBody({ name: `"${'x'.repeat(255)}"` }), { name: `"${'x'.repeat(255)}"` }],
    ['255 emoji', petBody({ name: `"${'🐕'.repeat(255)}"` }), { name: `"${'🐕'.repeat(255)}"` }],
    ['escapes', petBody({ name: '"\\u0052\\ud83d\\udc15\\/"' }), { name: '"R🐕/"' }],
    ['quotes and backslashes', petBody({ name: '"\\"\\\\"' }), { name: '"\\"\\\\"' }],
    ['not normalised', petBody({ name: '"e\\u0301 \u00e9"' }), { name: '"e\u0301 \u00e9"' }],
    ['line separators', petBody({ name: '"a\u2028b"' }), { name: '"a\u2028b"' }],
    ['further fields', petBody({ id: '99', tags: '[1,{"a":null}]', age: '1.5' }), { name: '"Rex"' }],
    ['__proto__', petBody({ ['__proto__']: '{"status":"sold"}' }), { name: '"Rex"' }],
    ['a field twice: the last one', '{"name":"a","name":"b","categoryId":1,"categoryId":7}', { name: '"b"' }],
    ['an escaped field name', '{"\\u006eame":"Rex","categoryId":7}', { name: '"Rex"' }],
  ])('%s', async (_, body, fields) => {
    await using api = await startApi();
    const answer = await api.post(body);
    const expected = created(1, fields);
    expect(whole(answer)).toStrictEqual(expected);
    expect((await api.get('/v1/pets')).body).toBe(`[${expected.body}]`);
    expect((await api.get('/v1/pets/1')).body).toBe(expected.body);
  });
});

describe('a broken rule: 400 naming every field, and nothing is created', () => {
  test.each([
    ['{}', 'name is required; categoryId is required'],
    [petBody({ name: '""' }), 'name must not be empty'],
    [petBody({ name: '" \\u00a0\\u3000"' }), 'name must contain a character that is not white space'],
    [petBody({ name: `"${'x'.repeat(256)}"` }), 'name must be at most 255 characters long'],
    [petBody({ name: `"${'🐕'.repeat(256)}"` }), 'name must be at most 255 characters long'],
    [petBody({ name: '"a\\u0000"' }), 'name must not contain control characters (U+0000 to U+001F, U+007F)'],
    [petBody({ name: '"\\u007fa"' }), 'name must not contain control characters (U+0000 to U+001F, U+007F)'],
    [petBody({ name: '"\\ud83d"' }), 'name must be well-formed Unicode, without lone surrogates'],
    [petBody({ name: '"\\udc15\\ud83d"' }), 'name must be well-formed Unicode, without lone surrogates'],
    [petBody({ name: 'null' }), 'name must be a string'],
    [petBody({ name: '7' }), 'name must be a string'],
    [petBody({ name: '["Rex"]' }), 'name must be a string'],
    [petBody({ status: 'null' }), STATUS],
    [petBody({ status: '""' }), STATUS],
    [petBody({ status: '"Sold"' }), STATUS],
    [petBody({ status: '" sold"' }), STATUS],
    [petBody({ status: '"toString"' }), STATUS],
    [petBody({ status: '["sold"]' }), STATUS],
    ['{"__proto__":{"name":"Rex","categoryId":7}}', 'name is required; categoryId is required'],
    ['{"NAME":"Rex","categoryId":7}', 'name is required'],
    ['{"name":"Rex"}', 'categoryId is required'],
    [
      '{"name":" ","categoryId":"7","status":null}',
      `name must contain a character that is not white space; ${CATEGORY}; ${STATUS}`,
    ],
    ['{"status":1,"id":null}', `name is required; categoryId is required; ${STATUS}`],
  ])('%j', async (body, message) => {
    await using api = await startApi();
    expect(whole(await api.post(body))).toStrictEqual(problem(400, 'INVALID_ARGUMENT', message));
    expect((await api.get('/v1/pets')).body).toBe('[]');
  });
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

test('two concurrent requests create two pets', async () => {
  await using api = await startApi();
  const answers = await Promise.all(Array.from({ length: 50 }, () => api.post(petBody())));
  const locations = new Set(answers.map(({ headers }) => headers['location']));
  expect(locations.size).toBe(50);
});

test('a query parameter is refused, and nothing is created', async () => {
  await using api = await startApi();
  const answer = await api.request('POST', '/v1/pets?dry=1&limit=5', {
    headers: { 'content-type': 'application/json' },
    body: petBody(),
  });
  expect(whole(answer)).toStrictEqual(
    problem(
      400,
      'INVALID_ARGUMENT',
      'dry is not a parameter of this operation; limit is not a parameter of this operation',
    ),
  );
  expect((await api.get('/v1/pets')).body).toBe('[]');
});

test('the last id, and then a clear error', async () => {
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
