import { expect, test } from 'vitest';
import { invalid, REX, success, brief } from '../../support/answer.ts';
import { apiWithPets } from './api-with-pets.ts';

const LIMIT = 'limit must be an integer from 1 to 100 in plain decimal digits';
const STATUS = 'status must be one of available, pending, sold';

const THREE_PETS = [
  { name: 'Rex' },
  { name: 'Tom', categoryId: -1n, status: 'sold' },
  { name: 'Kim', status: 'pending' },
] as const;

const TOM = '{"id":2,"name":"Tom","categoryId":-1,"status":"sold"}';
const KIM = '{"id":3,"name":"Kim","categoryId":7,"status":"pending"}';

test.each([
  ['', `[${REX},${TOM},${KIM}]`],
  ['?limit=100', `[${REX},${TOM},${KIM}]`],
  ['?status=available', `[${REX}]`],
  ['?limit=1&status=pending', `[${KIM}]`],
  ['?status=s%6Fld', `[${TOM}]`],
])('listPets%s returns the pets that match the query, in order of id', async (query, body) => {
  await using api = await apiWithPets(THREE_PETS);
  expect(brief(await api.get(`/v1/pets${query}`))).toStrictEqual(success(200, body));
});

test.each<readonly [string, string]>([
  ...['0', '101', '-1', '', '1e1', '%2B5', '05', '5.0', '5%0A', '%D9%A3'].map(
    (value) => [`limit=${value}`, LIMIT] as const,
  ),
  ...['', 'Sold', 'available,sold', 'toString'].map((value) => [`status=${value}`, STATUS] as const),
  ['limit', LIMIT],
  ['limit=&limit=5', 'limit must be given only once'],
  ['status=sold&status=sold&status=sold', 'status must be given only once'],
  ...['offset', '__proto__', 'constructor', 'Limit', 'limit[]', '?limit'].map(
    (name) => [`${name}=5`, `${name} is not a parameter of this operation`] as const,
  ),
  ['limit=0&status=Sold&cursor=&cursor=', `${LIMIT}; ${STATUS}; cursor must be given only once`],
  [
    'offset=5&limit=0&page=2',
    `${LIMIT}; offset is not a parameter of this operation; page is not a parameter of this operation`,
  ],
])('listPets answers 400 and names every invalid parameter: ?%s', async (query, message) => {
  await using api = await apiWithPets(THREE_PETS);
  expect(brief(await api.get(`/v1/pets?${query}`))).toStrictEqual(invalid(message));
});
