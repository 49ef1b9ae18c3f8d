import { describe, expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import type { PetStatus } from '../../../src/domain/pet.ts';
import { problem, whole } from '../../support/answer.ts';
import { type Api, startApi } from '../../support/http.ts';
import { aPet, stored } from '../../support/pets.ts';

type Page = { readonly ids: readonly number[]; readonly next: string | undefined };

async function page(api: Api, path: string): Promise<Page> {
  const { status, headers, body } = await api.get(path);
  expect(status).toBe(200);
  const ids = (JSON.parse(body) as { id: number }[]).map(({ id }) => id);
  const link = headers['link'];
  if (link === undefined) {
    expect(headers).not.toHaveProperty('next-cursor');
    return { ids, next: undefined };
  }
  const [, base, target] = /^<(http:\/\/[^/]+)(\/v1\/pets\?[^>]+)>; rel="next"$/.exec(String(link)) ?? [];
  expect(base).toBe(api.url);
  expect(target).toMatch(new RegExp(`[&]cursor=${String(headers['next-cursor'])}$`));
  return { ids, next: target };
}

/** The ids of every page from there to the last. */
async function walk(
  api: Api,
  path: string,
  between = async () => {},
): Promise<readonly (readonly number[])[]> {
  const pages = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const found: Page = await page(api, next);
    pages.push(found.ids);
    next = found.next;
    await between();
  }
  return pages;
}

async function apiWith(count: number): Promise<{ api: Api; pets: InMemoryPetRepository }> {
  const statuses: readonly PetStatus[] = ['available', 'sold'];
  const pets = new InMemoryPetRepository();
  await stored(pets, ...Array.from({ length: count }, (_, index) => ({ status: statuses[index % 2] })));
  return { api: await startApi({ pets }), pets };
}

describe('a walk', () => {
  test.each([
    [0, 2, [[]]],
    [1, 2, [[1]]],
    [2, 2, [[1, 2]]],
    [3, 2, [[1, 2], [3]]],
    [
      4,
      2,
      [
        [1, 2],
        [3, 4],
      ],
    ],
    [3, 1, [[1], [2], [3]]],
  ])('of %i pets, %i a page', async (count, limit, pages) => {
    const { api } = await apiWith(count);
    await using _ = api;
    expect(await walk(api, `/v1/pets?limit=${limit}`)).toStrictEqual(pages);
  });

  test('with a filter', async () => {
    const { api } = await apiWith(8);
    await using _ = api;
    expect(await walk(api, '/v1/pets?status=sold&limit=2')).toStrictEqual([
      [2, 4],
      [6, 8],
    ]);
  });

  test('with neither limit nor filter', async () => {
    const { api } = await apiWith(45);
    await using _ = api;
    const pages = await walk(api, '/v1/pets');
    expect(pages.map(({ length }) => length)).toStrictEqual([20, 20, 5]);
  });

  test.each(['?limit=2', '?limit=1&status=sold'])(
    '%s gives each pet once while pets are added',
    async (query) => {
      const { api, pets } = await apiWith(6);
      await using _ = api;
      let added = 0;
      const pages = await walk(api, `/v1/pets${query}`, async () => {
        if (added++ < 5) await stored(pets, { status: 'sold' });
      });
      const ids = pages.flat();
      expect(ids).toStrictEqual([...new Set(ids)].toSorted((a, b) => a - b));
      const before = query.includes('sold') ? [2, 4, 6] : [1, 2, 3, 4, 5, 6];
      expect(ids.slice(0, before.length)).toStrictEqual(before);
    },
  );
});

describe('the URL of the next page', () => {
  test('repeats filter and limit, and is absolute', async () => {
    const { api } = await apiWith(4);
    await using _ = api;
    const { headers } = await api.get('/v1/pets?status=sold&limit=1');
    expect(headers['link']).toBe(
      `<${api.url}/v1/pets?limit=1&status=sold&cursor=v1.0000000000000002>; rel="next"`,
    );
  });

  test('states the default limit', async () => {
    const { api } = await apiWith(21);
    await using _ = api;
    expect((await api.get('/v1/pets')).headers['link']).toBe(
      `<${api.url}/v1/pets?limit=20&cursor=v1.0000000000000014>; rel="next"`,
    );
  });

  test('has the host of the request', async () => {
    const { api } = await apiWith(2);
    await using _ = api;
    const { headers } = await api.get('/v1/pets?limit=1', { host: 'petstore.example:8080' });
    expect(headers['link']).toMatch(/^<http:\/\/petstore\.example:8080\/v1\/pets\?/);
  });

  test('has the public URL if it is set', async () => {
    const pets = new InMemoryPetRepository();
    await stored(pets, {}, {});
    await using api = await startApi({ pets, publicUrl: 'https://petstore.example/api' });
    const { headers } = await api.get('/v1/pets?limit=1');
    expect(headers['link']).toBe(
      '<https://petstore.example/api/v1/pets?limit=1&cursor=v1.0000000000000001>; rel="next"',
    );
  });

  test('is also in the answer to HEAD', async () => {
    const { api } = await apiWith(2);
    await using _ = api;
    const { headers } = await api.request('HEAD', '/v1/pets?limit=1');
    expect(headers['link']).toBe(`<${api.url}/v1/pets?limit=1&cursor=v1.0000000000000001>; rel="next"`);
  });

  test('never expires, and works with another limit and filter', async () => {
    const { api, pets } = await apiWith(4);
    await using _ = api;
    const { next = '' } = await page(api, '/v1/pets?limit=2');
    for (let id = 5; id <= 8; id++) await pets.insert(aPet({ status: 'sold' }));
    expect(await page(api, next)).toMatchObject({ ids: [3, 4] });
    const other = next.replace('limit=2', 'limit=3&status=sold');
    expect(await page(api, other)).toMatchObject({ ids: [4, 5, 6] });
  });
});

describe('Next-Cursor', () => {
  test('is the cursor of the next page, for clients that do not parse Link', async () => {
    const { api } = await apiWith(3);
    await using _ = api;
    const first = await api.get('/v1/pets?limit=2');
    expect(first.headers['next-cursor']).toBe('v1.0000000000000002');
    const { body, headers } = await api.get(`/v1/pets?cursor=${String(first.headers['next-cursor'])}`);
    expect(JSON.parse(body)).toMatchObject([{ id: 3 }]);
    expect(headers).not.toHaveProperty('next-cursor');
  });

  test('is also in the answer to HEAD', async () => {
    const { api } = await apiWith(2);
    await using _ = api;
    const { headers } = await api.request('HEAD', '/v1/pets?limit=1');
    expect(headers['next-cursor']).toBe('v1.0000000000000001');
  });
});

test('the cursor of the document is that of the beginning, with any limit and filter', async () => {
  const { api } = await apiWith(4);
  await using _ = api;
  const cursor = 'cursor=v1.0000000000000000';
  expect(await page(api, `/v1/pets?${cursor}`)).toMatchObject({ ids: [1, 2, 3, 4] });
  expect(await page(api, `/v1/pets?status=sold&limit=1&${cursor}`)).toMatchObject({ ids: [2] });
});

describe('a cursor that this service never issued: 400', () => {
  test.each([
    ['empty', ''],
    ['a bare id', '2'],
    ['without a version', '0000000000000002'],
    ['of another version', 'v2.0000000000000002'],
    ['in capitals', 'V1.0000000000000002'],
    ['with nothing in it', 'v1.'],
    ['too short', 'v1.000000000000002'],
    ['too long', 'v1.00000000000000002'],
    ['with capital digits', 'v1.000000000000000A'],
    ['with space', 'v1.0000000000000002%20'],
    ['with a line end', 'v1.0000000000000002%0A'],
    ['with a sign', 'v1.-000000000000002'],
    ['with other letters', 'v1.000000000000000g'],
    ['very long', `v1.${'0'.repeat(3000)}2`],
    ['digits of another script', 'v1.000000000000000%D9%A2'],
  ])('%s', async (_, cursor) => {
    await using api = await startApi();
    expect(whole(await api.get(`/v1/pets?cursor=${cursor}`))).toStrictEqual(
      problem(
        400,
        'INVALID_CURSOR',
        'cursor must be a cursor from the Next-Cursor or Link header of an earlier page',
      ),
    );
  });

  test('twice', async () => {
    await using api = await startApi();
    expect(
      whole(await api.get('/v1/pets?cursor=v1.0000000000000002&cursor=v1.0000000000000002')),
    ).toStrictEqual(problem(400, 'INVALID_CURSOR', 'cursor must be given only once'));
  });
});
