import { onTestFinished, vi } from 'vitest';

export type FakeClock = { advance(ms: number): void };

/**
 * Replaces `performance` and `otherGlobals` until the end of the test. Their time changes only when the test calls
 * `advance`. A test must call `fakeClock` before the tested code reads the clock, because the fake clock and the real
 * clock show different times.
 */
export function fakeClock(
  ...otherGlobals: readonly ('Date' | 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval')[]
): FakeClock {
  vi.useFakeTimers({ toFake: ['performance', ...otherGlobals] });
  onTestFinished(() => void vi.useRealTimers());
  return { advance: (ms) => void vi.advanceTimersByTime(ms) };
}
