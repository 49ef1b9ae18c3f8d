import { expect, test } from 'vitest';
import { parseJson } from '../../../src/adapters/json/exact-json.ts';
import { INT64_MAX } from '../../../src/domain/pet.ts';

// The properties try numbers with exponents up to 60.
test.each<readonly [string, bigint | number]>([
  ['0e99999999999999999999999', 0n],
  ['1e400', Number.POSITIVE_INFINITY],
  ['-1e999999999', Number.NEGATIVE_INFINITY],
  ['1e-400', 0],
  ['9223372036854775807.000', INT64_MAX],
])('the number %s', (text, value) => {
  expect(parseJson(text)).toBe(value);
});

test('flat text has exact numbers, those of 16 digits, with a fraction or an exponent included', () => {
  expect(parseJson('[9007199254740993,1]')).toStrictEqual([9007199254740993n, 1n]);
  expect(parseJson('[1.5,1]')).toStrictEqual([1.5, 1n]);
  expect(parseJson('[1,1e3]')).toStrictEqual([1n, 1000n]);
  expect(parseJson('[1E-1,1]')).toStrictEqual([0.1, 1n]);
});

test('of a repeated key, the last value counts', () => {
  expect(parseJson('{"a":1,"a":2}')).toStrictEqual({ a: 2n });
  expect(parseJson('{"a":[1,2],"a":3}')).toStrictEqual({ a: 3n });
  expect(parseJson('{"a":3,"a":{"b":9007199254740993}}')).toStrictEqual({ a: { b: 9007199254740993n } });
});

test.each([
  ['{"__proto__":1}', 1n],
  // This is not flat, so it is parsed in another way.
  ['{"__proto__":{"polluted":1}}', { polluted: 1n }],
])('__proto__ is a key like any other: %s', (text, expected) => {
  const value = parseJson(text) as object;
  expect(Object.entries(value)).toStrictEqual([['__proto__', expected]]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect('polluted' in {}).toBe(false);
});

// V8 would read the second text of each pair with a key of the first: https://github.com/nodejs/node/issues/63785.
test.each([
  ['{"a":1,"\\\\u0073":2}', '{"a":1,"\\u0073tatus":"sold"}', 'status'],
  ['{"b":1.5,"\\\\":2}', '{"b":1.5,"\\u0041":"sold"}', 'A'],
  ['[{"c":1,"\\\\u0073":2}]', '[{"c":1,"\\u0073tatus" : "sold"}]', 'status'],
  ['{"d":1,"\\\\u0073":2}', '{"d":1,"\\u0073t\\u0061tus":"sold"}', 'status'],
  ['{"e":"x",":\\\\u0073":2}', '{"e":"x",":\\u0073tatus":"sold"}', ':status'],
])('a key is not taken for one of an earlier text: %s, %s', (earlier, later, key) => {
  parseJson(earlier);
  const value = [parseJson(later)].flat()[0] as Record<string, unknown>;
  expect(value[key]).toBe('sold');
});

test('what looks like a key inside of a string stays as it is', () => {
  expect(parseJson('{"a":"\\"\\u0041\\":1","b":[":","\\u0042\\":"]}')).toStrictEqual({
    a: '"A":1',
    b: [':', 'B":'],
  });
});

test('deep nesting is refused', () => {
  expect(() => parseJson('['.repeat(1e5) + ']'.repeat(1e5))).toThrow(RangeError);
});
