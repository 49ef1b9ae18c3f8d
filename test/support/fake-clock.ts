import { onTestFinished, vi } from 'vitest';

export type FakeClock = { advance(ms: number): void };

/**
 * Stops `performance.now()` until the end of the test, and what else is named. Call it before the code under test reads
 * the clock, because the fake one starts at another time.
 */
export function fakeClock(
  ...others: readonly ('Date' | 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval')[]
): FakeClock {
  vi.useFakeTimers({ toFake: ['performance', ...others] });
  onTestFinished(() => void vi.useRealTimers());
  return { advance: (ms) => void vi.advanceTimersByTime(ms) };
}
