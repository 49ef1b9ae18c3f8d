import { describe, expect, test } from 'vitest';
import { PageQuery } from '../../../../src/adapters/http/operations/list-pets.ts';
import { decodeCursor, encodeCursor, queryParser } from '../../../../src/adapters/http/wire/query.ts';
import { INT64_MAX, INT64_MIN } from '../../../../src/domain/pet.ts';

const parse = queryParser(PageQuery);

test('no parameters: the defaults, every time', () => {
  for (const _ of [1, 2]) expect(parse('')).toStrictEqual({ limit: 20 });
});

test('parameters in any order, as often as they come', () => {
  for (const _ of [1, 2]) {
    expect(parse('status=sold&limit=7')).toStrictEqual({ status: 'sold', limit: 7 });
    expect(parse('limit=7&status=sold')).toStrictEqual({ status: 'sold', limit: 7 });
  }
});

test('a query string is parsed once', () => {
  const first = parse('status=sold&limit=8');
  expect(parse('limit=8')).not.toBe(first);
  expect(parse('status=sold&limit=8')).toBe(first);
});

test('many different query strings', () => {
  const first = parse('limit=1');
  const cursors = Array.from({ length: 2500 }, (_, id) => encodeCursor(BigInt(id)));
  const parsed = cursors.map((cursor) => parse(`cursor=${cursor}`));
  expect(parsed).toStrictEqual(cursors.map((cursor) => ({ cursor, limit: 20 })));
  expect(parse('limit=1')).toStrictEqual({ limit: 1 });
  // It was forgotten. Otherwise a client that sends ever new query strings would fill the memory.
  expect(parse('limit=1')).not.toBe(first);
});

test('what is refused is refused every time', () => {
  for (const _ of [1, 2]) expect(() => parse('limit=0')).toThrow('limit must be an integer from 1 to 100');
});

test.each([2, 3])('a parameter that comes %i times is refused, even with one value', (times) => {
  const again = (parameter: string) => Array(times).fill(parameter).join('&');
  for (const parameter of ['limit=7', 'status=sold', `cursor=${encodeCursor(1n)}`, 'limit=']) {
    expect(() => parse(again(parameter))).toThrow('must be given only once');
  }
  expect(() => parse(again('page=2'))).toThrow('page is not a parameter of this operation');
});

test('parameters with the names of properties of every object', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    expect(() => parse(`${name}=1`)).toThrow(`${name} is not a parameter of this operation`);
  }
});

test('a second question mark is part of a name', () => {
  expect(() => parse('?limit=5')).toThrow('?limit is not a parameter of this operation');
  expect(() => parse('?')).toThrow('? is not a parameter of this operation');
});

test('the form of a cursor of version 1 stays as it is: a cursor never expires', () => {
  expect([20n, -1n, INT64_MAX, INT64_MIN].map(encodeCursor)).toStrictEqual([
    'v1.0000000000000014',
    'v1.ffffffffffffffff',
    'v1.7fffffffffffffff',
    'v1.8000000000000000',
  ]);
});

describe('text that encodeCursor never produces', () => {
  const made = encodeCursor(20n);

  test.each([
    ['cut off', made.slice(0, -1)],
    ['longer', `${made}0`],
    ['with white space', ` ${made}`],
    ['with a line end', `${made}\n`],
    ['with another line', `${made}\n${made}`],
    ['without version', made.slice(3)],
    ['of version 2', made.replace('1', '2')],
    ['twice versioned', `v1.${made}`],
    ['hexadecimal as JavaScript has it', `v1.0x${made.slice(5)}`],
  ])('%s', (_, cursor) => {
    expect(decodeCursor(cursor)).toBeUndefined();
  });
});
