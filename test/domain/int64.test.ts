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
    ['one below the least', -9223372036854775809n, false],
    ['the greatest', 9223372036854775807n, true],
    ['one above the greatest', 9223372036854775808n, false],
    ['zero', 0n, true],
    ['the first one that a double cannot represent', 9007199254740993n, true],
    ['the greatest unsigned 64-bit integer', 18446744073709551615n, false],
  ])('checks the range: %s', (_what, value, expected) => {
    expect(isInt64(value)).toBe(expected);
  });
});
