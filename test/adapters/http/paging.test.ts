import { expect, test } from 'vitest';
import { problem, whole } from '../../support/answer.ts';
import { type Api, startApi } from '../../support/http.ts';
import { numbers } from '../../support/numbers.ts';
import { apiWithPets } from './api-with-pets.ts';

const cursorAfter = (id: number) => `v1.${id.toString(16).padStart(16, '0')}`;

/** A service with this many pets, every second of them sold. */
function apiWith(count: number, options: Parameters<typeof startApi>[0] = {}): Promise<Api> {
  return apiWithPets(
    numbers(count).map((at) => ({ status: at % 2 ? 'sold' : 'available' }) as const),
    options,
  );
}

// proof/fuzz/fuzz.test.ts walks through any catalogue, and application/pets/list-pets.test.ts while pets are added.
test.each([
  ['', 20, 'limit=20', 20],
  ['?status=sold&limit=1', 1, 'limit=1&status=sold', 2],
  [`?cursor=${cursorAfter(3)}&limit=1`, 1, 'limit=1', 4],
])('a page of %j links to the next one in Link and Next-Cursor', async (query, size, repeated, last) => {
  await using api = await apiWith(21);
  const page = await api.get(`/v1/pets${query}`);
  const next = cursorAfter(last);
  expect(JSON.parse(page.body)).toHaveLength(size);
  const headers = {
    link: `<${api.url}/v1/pets?${repeated}&cursor=${next}>; rel="next"`,
    'next-cursor': next,
  };
  expect(whole(page).headers).toStrictEqual(headers);
  expect(whole(await api.request('HEAD', `/v1/pets${query}`)).headers).toStrictEqual(headers);
});

test.each([
  '?limit=21',
  `?limit=1&cursor=${cursorAfter(20)}`,
  `?limit=1&status=sold&cursor=${cursorAfter(18)}`,
])('the last page has neither Link nor Next-Cursor: %s', async (query) => {
  await using api = await apiWith(21);
  expect(whole(await api.get(`/v1/pets${query}`)).headers).toStrictEqual({});
});

test('a cursor that the service never issued is answered with 400', async () => {
  await using api = await startApi();
  // contract/cursor.properties.test.ts has every form.
  for (const cursor of ['', cursorAfter(2).replace('1', '2'), `${cursorAfter(2)}%0A`]) {
    const message = 'cursor must be a cursor from the Next-Cursor or Link header of an earlier page';
    expect(whole(await api.get(`/v1/pets?cursor=${cursor}`)), cursor).toStrictEqual(
      problem(400, 'INVALID_CURSOR', message),
    );
  }
  const twice = `/v1/pets?cursor=${cursorAfter(2)}&cursor=${cursorAfter(2)}`;
  expect(whole(await api.get(twice))).toStrictEqual(
    problem(400, 'INVALID_CURSOR', 'cursor must be given only once'),
  );
});
