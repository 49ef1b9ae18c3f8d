import { describe, expect, it } from 'vitest';
import { allowanceOf } from '../../../src/application/ports/rate-limiter.ts';

describe('allowanceOf', () => {
  const limit = { requests: 2, seconds: 10 };

  it.each([
    ['the first request', 1, 10_000, { allowed: true, remaining: 1, resetSeconds: 10 }],
    ['the last allowed request', 2, 9_000, { allowed: true, remaining: 0, resetSeconds: 9 }],
    ['one request too many', 3, 8_001, { allowed: false, remaining: 0, resetSeconds: 9 }],
    ['the last millisecond', 3, 1, { allowed: false, remaining: 0, resetSeconds: 1 }],
    ['the end of the window', 3, 0, { allowed: false, remaining: 0, resetSeconds: 1 }],
    ['a rounding error beyond the window', 1, 10_000.001, { allowed: true, remaining: 1, resetSeconds: 10 }],
  ])('describes %s', (_, count, leftMs, expected) => {
    expect(allowanceOf(limit, count, leftMs)).toStrictEqual(expected);
  });
});
