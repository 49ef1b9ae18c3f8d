import { expect, test } from 'vitest';
import { PageQuery } from '../../../../src/adapters/http/operations/list-pets.ts';
import { encodeCursor, queryParser } from '../../../../src/adapters/http/contract/query.ts';
import { INT64_MAX, INT64_MIN } from '../../../../src/domain/pet.ts';

const parse = queryParser(PageQuery);

test('a valid query string is parsed once, and an invalid one is refused every time', () => {
  const first = parse('status=sold&limit=8');
  expect(first).toStrictEqual({ status: 'sold', limit: 8 });
  expect(parse('status=sold&limit=8')).toBe(first);
  for (const _ of [1, 2]) expect(() => parse('limit=0')).toThrow('limit must be an integer from 1 to 100');
});

test('the first parsed query string is forgotten after many different ones', () => {
  const first = parse('limit=1');
  const cursors = Array.from({ length: 2500 }, (_, id) => encodeCursor(BigInt(id)));
  const parsed = cursors.map((cursor) => parse(`cursor=${cursor}`));
  expect(parsed).toStrictEqual(cursors.map((cursor) => ({ cursor, limit: 20 })));
  expect(parse('limit=1')).toStrictEqual({ limit: 1 });
  // The cache has a limit, so it no longer has `first`. Without the limit, a client could fill the memory with
  // different query strings.
  expect(parse('limit=1')).not.toBe(first);
});

test('the form of a version 1 cursor does not change, because a cursor never expires', () => {
  expect([20n, -1n, INT64_MAX, INT64_MIN].map(encodeCursor)).toStrictEqual([
    'v1.0000000000000014',
    'v1.ffffffffffffffff',
    'v1.7fffffffffffffff',
    'v1.8000000000000000',
  ]);
});
