import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../src/adapters/json/exact-json.ts';
import { INT64_MAX, INT64_MIN } from '../../../src/domain/pet.ts';

describe('a number that is an integer in the range of int64 is a bigint', () => {
  test.each<readonly [string, bigint]>([
    ['0', 0n],
    ['-0', 0n],
    ['-0.000e-9', 0n],
    ['0e99999999999999999999999', 0n],
    ['1.0', 1n],
    ['1e3', 1000n],
    ['1.25e2', 125n],
    ['12500e-2', 125n],
    ['-1.5E+1', -15n],
    ['0.1e1', 1n],
    ['0.0000010e6', 1n],
    ['1000000000000000000', 10n ** 18n],
    ['1e18', 10n ** 18n],
    ['9223372036854775807', INT64_MAX],
    ['-9223372036854775808', INT64_MIN],
    ['9223372036854775807.000', INT64_MAX],
  ])('%s', (text, value) => {
    expect(parseJson(text)).toBe(value);
  });
});

describe('any other number is a double', () => {
  test.each<readonly [string, number]>([
    ['1.5', 1.5],
    ['-0.1', -0.1],
    ['1e-1', 0.1],
    ['12345e-3', 12.345],
    ['9223372036854775808', 2 ** 63],
    ['-9223372036854775809', -(2 ** 63)],
    ['1e19', 1e19],
    ['1e400', Number.POSITIVE_INFINITY],
    ['-1e999999999', Number.NEGATIVE_INFINITY],
    ['1e-400', 0],
    ['1e99999999999999999999999', Number.POSITIVE_INFINITY],
  ])('%s', (text, value) => {
    expect(parseJson(text)).toBe(value);
  });
});

describe('flat text without a number that a double could change is parsed in another way, with the same result', () => {
  const bigints = (_key: string, value: unknown) => (typeof value === 'number' ? BigInt(value) : value);

  test.each([
    '7',
    '-0',
    '"7"',
    'true',
    'null',
    '[-0,999999999999999,-999999999999999]',
    '{"name":"Rex","categoryId":7,"status":"sold"}',
    '{"a":1,"b":null,"c":true,"d":"4","":5}',
    ' {"a":1}',
    '[1,2,"3"]',
    '{"a":[1,[2,{"b":3}],null,true,"4"],"":5,"a b":{}}',
    '[{"a":1}]',
    '{"a":1,"a":2}',
    '{"__proto__":1,"constructor":2,"toString":3}',
  ])('%s', (text) => {
    expect(parseJson(text)).toStrictEqual(JSON.parse(text, bigints));
  });

  test('__proto__ is a field like any other', () => {
    const value = parseJson('{"__proto__":1}') as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.entries(value)).toStrictEqual([['__proto__', 1n]]);
  });

  test('unless a number has 16 digits, a fraction or an exponent', () => {
    expect(parseJson('[9007199254740993,1]')).toStrictEqual([9007199254740993n, 1n]);
    expect(parseJson('[1.5,1]')).toStrictEqual([1.5, 1n]);
    expect(parseJson('[1,1e3]')).toStrictEqual([1n, 1000n]);
    expect(parseJson('[1E-1,1]')).toStrictEqual([0.1, 1n]);
  });
});

test('of a repeated key, the last value', () => {
  expect(parseJson('{"a":1,"a":2}')).toStrictEqual({ a: 2n });
  expect(parseJson('{"a":[1,2],"a":3}')).toStrictEqual({ a: 3n });
  expect(parseJson('{"a":3,"a":{"b":9007199254740993}}')).toStrictEqual({ a: { b: 9007199254740993n } });
});

test('__proto__ is a key like any other', () => {
  const value = parseJson('{"__proto__":{"polluted":1}}');
  expect(Object.keys(value as object)).toStrictEqual(['__proto__']);
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

test.each(['', '{', '01', '1.', '.5', '+1', '1e', 'Infinity', '1_000', '7n', '{"a":1,}'])(
  '%j is not JSON',
  (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  },
);

test('deep nesting', () => {
  expect(() => parseJson('['.repeat(1e5) + ']'.repeat(1e5))).toThrow(RangeError);
});
