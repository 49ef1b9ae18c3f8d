import { describe, expect, test } from 'vitest';
import { decodeCursor, encodeCursor } from '../../../../src/adapters/http/wire/cursor.ts';
import { INT64_MAX, INT64_MIN } from '../../../../src/domain/pet.ts';

test('the form of version 1 stays as it is: a cursor never expires', () => {
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
