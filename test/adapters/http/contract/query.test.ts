import { expect, test } from 'vitest';
import { PageQuery } from '../../../../src/adapters/http/operations/list-pets.ts';
import { encodeCursor, queryParser } from '../../../../src/adapters/http/contract/query.ts';
import { INT64_MAX, INT64_MIN } from '../../../../src/domain/pet.ts';

const parse = queryParser(PageQuery);

test('the parser returns the same object for the same valid query string, and refuses an invalid query string every time', () => {
  const parsedQuery = parse('status=sold&limit=8');
  expect(parsedQuery).toStrictEqual({ status: 'sold', limit: 8 });
  expect(parse('status=sold&limit=8')).toBe(parsedQuery);
  for (const _ of [1, 2]) expect(() => parse('limit=0')).toThrow('limit must be an integer from 1 to 100');
});

test('the parser no longer remembers a query string after 2,500 other query strings', () => {
  const parsedQuery = parse('limit=1');
  const cursors = Array.from({ length: 2500 }, (_, id) => encodeCursor(BigInt(id)));
  const otherQueries = cursors.map((cursor) => parse(`cursor=${cursor}`));
  expect(otherQueries).toStrictEqual(cursors.map((cursor) => ({ cursor, limit: 20 })));
  expect(parse('limit=1')).toStrictEqual({ limit: 1 });
  // Another object shows that the query string was parsed again. If the parser remembered all query strings, a client
  // could fill the memory with them.
  expect(parse('limit=1')).not.toBe(parsedQuery);
});

test('encodeCursor returns the same text in every release, because a cursor never expires', () => {
  expect([20n, -1n, INT64_MAX, INT64_MIN].map(encodeCursor)).toStrictEqual([
    'v1.0000000000000014',
    'v1.ffffffffffffffff',
    'v1.7fffffffffffffff',
    'v1.8000000000000000',
  ]);
});
