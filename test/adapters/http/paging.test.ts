import { expect, test } from 'vitest';
import { problem, brief } from '../../support/answer.ts';
import { type Api, startApi } from '../../support/http.ts';
import { numbers } from '../../support/numbers.ts';
import { apiWithPets } from './api-with-pets.ts';

const cursorAfter = (id: number) => `v1.${id.toString(16).padStart(16, '0')}`;

/** Starts a service with this many pets. Every second pet is sold. */
function startWithPets(count: number, options: Parameters<typeof startApi>[0] = {}): Promise<Api> {
  return apiWithPets(
    numbers(count).map((number) => ({ status: number % 2 ? 'sold' : 'available' }) as const),
    options,
  );
}

// proof/fuzz/fuzz.test.ts reads all pages of random catalogues. application/pets/list-pets.test.ts reads all pages
// while pets are added.
test.each([
  ['', 20, 'limit=20', 20],
  ['?status=sold&limit=1', 1, 'limit=1&status=sold', 2],
  [`?cursor=${cursorAfter(3)}&limit=1`, 1, 'limit=1', 4],
])('Link and Next-Cursor of page %j lead to the next page', async (query, size, repeatedQuery, lastId) => {
  await using api = await startWithPets(21);
  const page = await api.get(`/v1/pets${query}`);
  const nextCursor = cursorAfter(lastId);
  expect(JSON.parse(page.body)).toHaveLength(size);
  const headers = {
    link: `<${api.url}/v1/pets?${repeatedQuery}&cursor=${nextCursor}>; rel="next"`,
    'next-cursor': nextCursor,
  };
  expect(brief(page).headers).toStrictEqual(headers);
  expect(brief(await api.request('HEAD', `/v1/pets${query}`)).headers).toStrictEqual(headers);
});

test.each([
  '?limit=21',
  `?limit=1&cursor=${cursorAfter(20)}`,
  `?limit=1&status=sold&cursor=${cursorAfter(18)}`,
])('the last page has neither Link nor Next-Cursor: %s', async (query) => {
  await using api = await startWithPets(21);
  expect(brief(await api.get(`/v1/pets${query}`)).headers).toStrictEqual({});
});

test('a cursor that the service never issued is answered with 400', async () => {
  await using api = await startApi();
  // All forms of a cursor are tested in contract/cursor.properties.test.ts.
  for (const cursor of ['', cursorAfter(2).replace('1', '2'), `${cursorAfter(2)}%0A`]) {
    const message = 'cursor must be a cursor from the Next-Cursor or Link header of an earlier page';
    expect(brief(await api.get(`/v1/pets?cursor=${cursor}`)), cursor).toStrictEqual(
      problem(400, 'INVALID_CURSOR', message),
    );
  }
  const repeatedCursor = `/v1/pets?cursor=${cursorAfter(2)}&cursor=${cursorAfter(2)}`;
  expect(brief(await api.get(repeatedCursor))).toStrictEqual(
    problem(400, 'INVALID_CURSOR', 'cursor must be given only once'),
  );
});
