import { describe, expect, it } from 'vitest';
import { INT64_MAX, INT64_MIN, isInt64 } from '../../src/domain/int64.ts';

describe('int64', () => {
  it('has the range of a signed 64-bit integer', () => {
    expect({ INT64_MIN, INT64_MAX }).toStrictEqual({
      INT64_MIN: -9223372036854775808n,
      INT64_MAX: 9223372036854775807n,
    });
  });

  it.each([
    ['the least', -9223372036854775808n, true],
    ['one less than the least', -9223372036854775809n, false],
    ['the greatest', 9223372036854775807n, true],
    ['one more than the greatest', 9223372036854775808n, false],
    ['zero', 0n, true],
    ['the first that a double cannot tell from its neighbour', 9007199254740993n, true],
    ['the greatest of 64 bits without a sign', 18446744073709551615n, false],
  ])('tells whether %s is one', (_what, value, expected) => {
    expect(isInt64(value)).toBe(expected);
  });
});
