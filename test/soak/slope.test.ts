import { expect, test } from 'vitest';
import { median, slope } from './slope.ts';

test('the slope of a line is found through outliers', () => {
  const points = Array.from({ length: 40 }, (_, x) => ({ x, y: x % 7 === 0 ? 1e9 : 3 * x + 5 }));
  expect(slope(points)).toBeCloseTo(3);
});

test('noise has nearly no slope', () => {
  const points = Array.from({ length: 100 }, (_, x) => ({ x, y: 50 + ((x * 37) % 11) }));
  expect(Math.abs(slope(points))).toBeLessThan(0.02);
});

test('too few points have none', () => {
  expect([slope([]), slope([{ x: 1, y: 2 }]), median([])]).toStrictEqual([0, 0, 0]);
});
