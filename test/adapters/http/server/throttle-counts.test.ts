import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { throttleCounts } from '../../../../src/adapters/http/server/throttle-counts.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('reports the first event at once, sums of later ones every ten seconds, and a new first one at once', () => {
  const reports: number[] = [];
  const count = throttleCounts((sum) => void reports.push(sum));
  count(1);
  expect(reports).toStrictEqual([1]);
  for (let i = 0; i < 1000; i++) count(2);
  vi.advanceTimersByTime(9_999);
  expect(reports).toStrictEqual([1]);
  vi.advanceTimersByTime(1);
  expect(reports).toStrictEqual([1, 2000]);
  count(3);
  vi.advanceTimersByTime(10_000);
  expect(reports).toStrictEqual([1, 2000, 3]);
  vi.advanceTimersByTime(10_000);
  expect(reports).toStrictEqual([1, 2000, 3]);
  expect(vi.getTimerCount()).toBe(0);
  count(4);
  expect(reports).toStrictEqual([1, 2000, 3, 4]);
});
