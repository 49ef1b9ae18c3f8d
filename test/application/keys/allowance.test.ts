import { describe, expect, it } from 'vitest';
import { allowanceOf } from '../../../src/application/keys/allowance.ts';

const limit = { requests: 10, seconds: 60 };

describe('the allowance of a rate limit', () => {
  it.each([
    {
      what: 'after the first request',
      count: 1,
      leftMs: 60_000,
      allowed: true,
      remaining: 9,
      resetSeconds: 60,
    },
    {
      what: 'after the last request',
      count: 10,
      leftMs: 30_000,
      allowed: true,
      remaining: 0,
      resetSeconds: 30,
    },
    { what: 'above the limit', count: 11, leftMs: 30_000, allowed: false, remaining: 0, resetSeconds: 30 },
    { what: 'rounds seconds up', count: 1, leftMs: 29_001, allowed: true, remaining: 9, resetSeconds: 30 },
    {
      what: 'in a window that is just ending',
      count: 1,
      leftMs: 0,
      allowed: true,
      remaining: 9,
      resetSeconds: 1,
    },
    {
      what: 'in a window that has ended',
      count: 1,
      leftMs: -7,
      allowed: true,
      remaining: 9,
      resetSeconds: 1,
    },
    {
      what: 'never exceeds the window',
      count: 1,
      leftMs: 60_001,
      allowed: true,
      remaining: 9,
      resetSeconds: 60,
    },
  ])('$what', ({ count, leftMs, allowed, remaining, resetSeconds }) => {
    expect(allowanceOf(limit, { count, leftMs })).toStrictEqual({ allowed, remaining, resetSeconds });
  });
});
