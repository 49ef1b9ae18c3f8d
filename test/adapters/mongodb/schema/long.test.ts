import { expect, it } from 'vitest';
import { toBigInt, toLong } from '../../../../src/adapters/mongodb/schema/collections.ts';
import { INT64_MAX, INT64_MIN } from '../../../../src/domain/pet.ts';

it.each([0n, 1n, -1n, 2n ** 31n, 2n ** 32n - 1n, -(2n ** 32n), 2n ** 53n + 1n, INT64_MAX, INT64_MIN])(
  '%s becomes a long and comes back',
  (value) => {
    expect(toLong(value).toString()).toBe(String(value));
    expect(toBigInt(toLong(value))).toBe(value);
  },
);

it.each([INT64_MAX + 1n, INT64_MIN - 1n])('%s is refused, because BSON would wrap it', (value) => {
  expect(() => toLong(value)).toThrow(
    new RangeError(`${value} is not between -9223372036854775808 and 9223372036854775807`),
  );
});
