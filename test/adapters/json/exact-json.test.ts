import { expect, test } from 'vitest';
import { parseJson } from '../../../src/adapters/json/exact-json.ts';
import { INT64_MAX } from '../../../src/domain/pet.ts';

// These numbers have exponents above 60. exact-json.properties.test.ts tries exponents up to 60.
test.each<readonly [string, bigint | number]>([
  ['0e99999999999999999999999', 0n],
  ['1e400', Number.POSITIVE_INFINITY],
  ['-1e999999999', Number.NEGATIVE_INFINITY],
  ['1e-400', 0],
  ['9223372036854775807.000', INT64_MAX],
])('parseJson reads the number %s as %s', (text, value) => {
  expect(parseJson(text)).toBe(value);
});

test('parseJson reads numbers exactly from an array without nesting: 16 digits, a fraction or an exponent', () => {
  expect(parseJson('[9007199254740993,1]')).toStrictEqual([9007199254740993n, 1n]);
  expect(parseJson('[1.5,1]')).toStrictEqual([1.5, 1n]);
  expect(parseJson('[1,1e3]')).toStrictEqual([1n, 1000n]);
  expect(parseJson('[1E-1,1]')).toStrictEqual([0.1, 1n]);
});

test('parseJson returns the last value of a repeated key', () => {
  expect(parseJson('{"a":1,"a":2}')).toStrictEqual({ a: 2n });
  expect(parseJson('{"a":[1,2],"a":3}')).toStrictEqual({ a: 3n });
  expect(parseJson('{"a":3,"a":{"b":9007199254740993}}')).toStrictEqual({ a: { b: 9007199254740993n } });
});

test.each([
  ['{"__proto__":1}', 1n],
  // This object is nested, and nested text is parsed by other code.
  ['{"__proto__":{"polluted":1}}', { polluted: 1n }],
])('parseJson reads __proto__ like any other key: %s', (text, expected) => {
  const value = parseJson(text) as object;
  expect(Object.entries(value)).toStrictEqual([['__proto__', expected]]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect('polluted' in {}).toBe(false);
});

// A bug of V8 reads a key of the second text as a key of the first: https://github.com/nodejs/node/issues/63785.
test.each([
  ['{"a":1,"\\\\u0073":2}', '{"a":1,"\\u0073tatus":"sold"}', 'status'],
  ['{"b":1.5,"\\\\":2}', '{"b":1.5,"\\u0041":"sold"}', 'A'],
  ['[{"c":1,"\\\\u0073":2}]', '[{"c":1,"\\u0073tatus" : "sold"}]', 'status'],
  ['{"d":1,"\\\\u0073":2}', '{"d":1,"\\u0073t\\u0061tus":"sold"}', 'status'],
  ['{"e":"x",":\\\\u0073":2}', '{"e":"x",":\\u0073tatus":"sold"}', ':status'],
])('parseJson never returns a key of an earlier text: after %s, it reads %s', (earlier, later, key) => {
  parseJson(earlier);
  const value = [parseJson(later)].flat()[0] as Record<string, unknown>;
  expect(value[key]).toBe('sold');
});

test('parseJson does not change a part of a string that looks like a key', () => {
  expect(parseJson('{"a":"\\"\\u0041\\":1","b":[":","\\u0042\\":"]}')).toStrictEqual({
    a: '"A":1',
    b: [':', 'B":'],
  });
});

test('parseJson refuses deep nesting', () => {
  expect(() => parseJson('['.repeat(1e5) + ']'.repeat(1e5))).toThrow(RangeError);
});
