import { onTestFinished, vi } from 'vitest';

export type FakeClock = { advance(ms: number): void };

/**
 * Stops `performance.now()` until the end of the test. Timers stay real. Call it before the code under test reads the
 * clock, because the fake one starts at another time.
 */
export function fakeClock(): FakeClock {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  return { advance: (ms) => void vi.advanceTimersByTime(ms) };
}
