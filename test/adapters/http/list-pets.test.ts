import { describe, expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { problem, success, whole } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { stored } from '../../support/pets.ts';

const LIMIT = 'limit must be an integer from 1 to 100 in plain decimal digits';
const STATUS = 'status must be one of available, pending, sold';

async function apiWithThreePets() {
  const pets = new InMemoryPetRepository();
  await stored(
    pets,
    { name: 'Rex' },
    { name: 'Tom', categoryId: -1n, status: 'sold' },
    { name: 'Kim', status: 'pending' },
  );
  return startApi({ pets });
}

const REX = '{"id":1,"name":"Rex","categoryId":7,"status":"available"}';
const TOM = '{"id":2,"name":"Tom","categoryId":-1,"status":"sold"}';
const KIM = '{"id":3,"name":"Kim","categoryId":7,"status":"pending"}';

test('an empty catalogue is an empty array', async () => {
  await using api = await startApi();
  expect(whole(await api.get('/v1/pets'))).toStrictEqual(success(200, '[]'));
});

test.each([
  ['', `[${REX},${TOM},${KIM}]`],
  ['?', `[${REX},${TOM},${KIM}]`],
  ['?limit=100', `[${REX},${TOM},${KIM}]`],
  ['?status=available', `[${REX}]`],
  ['?status=sold', `[${TOM}]`],
  ['?limit=1&status=pending', `[${KIM}]`],
  ['?status=s%6Fld', `[${TOM}]`],
])('%s: what it asks for, in ascending order of id', async (query, body) => {
  await using api = await apiWithThreePets();
  expect(whole(await api.get(`/v1/pets${query}`))).toStrictEqual(success(200, body));
});

test('a page is 20 by default and up to 100', async () => {
  const pets = new InMemoryPetRepository();
  await stored(pets, ...Array.from({ length: 101 }, (_, index) => ({ name: `pet ${index}` })));
  await using api = await startApi({ pets });
  const lengths = [];
  for (const query of ['', '?limit=1', '?limit=100']) {
    const { body } = await api.get(`/v1/pets${query}`);
    lengths.push((JSON.parse(body) as unknown[]).length);
  }
  expect(lengths).toStrictEqual([20, 1, 100]);
});

describe('an invalid parameter: 400 naming it', () => {
  test.each([
    ['limit=0', LIMIT],
    ['limit=101', LIMIT],
    ['limit=-1', LIMIT],
    ['limit=', LIMIT],
    ['limit', LIMIT],
    ['limit=1e1', LIMIT],
    ['limit=%2B5', LIMIT],
    ['limit=+5', LIMIT],
    ['limit=05', LIMIT],
    ['limit=5.0', LIMIT],
    ['limit=0x10', LIMIT],
    ['limit=%205', LIMIT],
    ['limit=5%0A', LIMIT],
    ['limit=%D9%A3', LIMIT],
    ['limit=99999999999999999999', LIMIT],
    ['limit=abc', LIMIT],
    ['limit=5&limit=5', 'limit must be given only once'],
    ['status=', STATUS],
    ['status=Sold', STATUS],
    ['status=sold%20', STATUS],
    ['status=available,sold', STATUS],
    ['status=toString', STATUS],
    ['status=%FF', STATUS],
    ['status=sold&status=sold', 'status must be given only once'],
    ['offset=5', 'offset is not a parameter of this operation'],
    ['Limit=5', 'Limit is not a parameter of this operation'],
    ['limit[]=5', 'limit[] is not a parameter of this operation'],
    ['__proto__=5', '__proto__ is not a parameter of this operation'],
    ['constructor=5', 'constructor is not a parameter of this operation'],
    ['limit=0&status=Sold', `${LIMIT}; ${STATUS}`],
    [
      'offset=5&limit=0&page=2',
      `${LIMIT}; offset is not a parameter of this operation; page is not a parameter of this operation`,
    ],
  ])('?%s', async (query, message) => {
    await using api = await apiWithThreePets();
    const answer = await api.get(`/v1/pets?${query}`);
    expect(whole(answer)).toStrictEqual(problem(400, 'INVALID_ARGUMENT', message));
  });
});

test('the same refusal every time, and never the answer to another query', async () => {
  await using api = await apiWithThreePets();
  for (const _ of [1, 2]) {
    expect(whole(await api.get('/v1/pets?limit=0'))).toStrictEqual(problem(400, 'INVALID_ARGUMENT', LIMIT));
    expect(whole(await api.get('/v1/pets?status=sold'))).toStrictEqual(success(200, `[${TOM}]`));
    expect(whole(await api.get('/v1/pets?status=pending'))).toStrictEqual(success(200, `[${KIM}]`));
  }
});
