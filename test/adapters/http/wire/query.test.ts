import { expect, test } from 'vitest';
import { encodeCursor } from '../../../../src/adapters/http/wire/cursor.ts';
import { queryParser } from '../../../../src/adapters/http/wire/query.ts';
import { PageQuery } from '../../../../src/adapters/http/wire/schemas.ts';

const parse = queryParser(PageQuery);

test('a query string is parsed once', () => {
  expect(parse('status=sold&limit=7')).toStrictEqual({ status: 'sold', limit: 7 });
  expect(parse('status=sold&limit=7')).toBe(parse('status=sold&limit=7'));
});

test('the same parameters in another order are the same query', () => {
  expect(parse('limit=7&status=sold')).toStrictEqual(parse('status=sold&limit=7'));
});

test('more query strings than are remembered', () => {
  const first = parse('limit=1');
  const cursors = Array.from({ length: 2500 }, (_, id) => encodeCursor(BigInt(id)));
  const parsed = cursors.map((cursor) => parse(`cursor=${cursor}`));
  expect(parsed).toStrictEqual(cursors.map((cursor) => ({ cursor, limit: 20 })));
  // It was forgotten: otherwise whoever sends ever new ones fills the memory.
  expect(parse('limit=1')).not.toBe(first);
});

test('what is refused is refused every time', () => {
  for (const _ of [1, 2]) expect(() => parse('limit=0')).toThrow('limit must be an integer from 1 to 100');
});

test('parameters that are names of JavaScript', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    expect(() => parse(`${name}=1`)).toThrow(`${name} is not a parameter of this operation`);
  }
});
