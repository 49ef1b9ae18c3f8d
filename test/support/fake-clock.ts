import { onTestFinished, vi } from 'vitest';

export type FakeClock = { advance(ms: number): void };

/**
 * Stops `performance.now()` and `otherFunctions` until the end of the test: only `advance` moves the time. Call it
 * before the code under test reads the clock, because the fake clock starts at another time.
 */
export function fakeClock(
  ...otherFunctions: readonly ('Date' | 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval')[]
): FakeClock {
  vi.useFakeTimers({ toFake: ['performance', ...otherFunctions] });
  onTestFinished(() => void vi.useRealTimers());
  return { advance: (ms) => void vi.advanceTimersByTime(ms) };
}
