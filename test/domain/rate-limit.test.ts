import { expect, it } from 'vitest';
import { allowanceOf } from '../../src/domain/rate-limit.ts';

const limit = { requests: 10, seconds: 60 };

it.each([
  ['after the first request', 1, 60_000, { allowed: true, remaining: 9, resetSeconds: 60 }],
  ['after the last request', 10, 29_001, { allowed: true, remaining: 0, resetSeconds: 30 }],
  ['above the limit', 11, 30_000, { allowed: false, remaining: 0, resetSeconds: 30 }],
  ['when the window has ended', 1, -7, { allowed: true, remaining: 9, resetSeconds: 1 }],
  [
    'when the clock was set back after the window began',
    1,
    60_001,
    { allowed: true, remaining: 9, resetSeconds: 60 },
  ],
])('allowanceOf returns the requests left and the time to the reset: %s', (_, count, leftMs, expected) => {
  expect(allowanceOf(limit, { count, leftMs })).toStrictEqual(expected);
});
