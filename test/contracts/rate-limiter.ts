import { expect, it, vi } from 'vitest';
import type { RateLimiter } from '../../src/application/ports/rate-limiter.ts';
import { fakeClock } from '../support/fake-clock.ts';

type OpenedLimiter = {
  readonly limiter: RateLimiter;
  /** Makes the counts on the server older by `ms` milliseconds. Absent if the limiter has no server. */
  readonly age?: (ms: number) => Promise<unknown>;
};

/** The length of a window, in seconds. No test takes so many seconds. */
const seconds = 3_600;
/** Matches a time of half a window to one window. The time is not exact, because the clock of a server runs on. */
const aboutOneWindow = expect.toSatisfy((reset: number) => reset > seconds / 2 && reset <= seconds);
const refused = { allowed: false, remaining: 0, resetSeconds: aboutOneWindow };

/**
 * The tests that every {@link RateLimiter} must pass. {@link rateLimiterModel} tests random sequences of calls.
 * The clocks of this process stand still during a test.
 *
 * @param open opens a limiter that has counted nothing
 */
export function rateLimiterContract(open: () => Promise<OpenedLimiter>): void {
  async function opened() {
    const { limiter, age } = await open();
    const clock = fakeClock('Date', 'setTimeout', 'clearTimeout');
    const advance = async (ms: number) => {
      clock.advance(ms);
      await age?.(ms);
    };
    return { limiter, advance };
  }

  it('starts the next window when the returned resetSeconds have passed', async () => {
    const { limiter, advance } = await opened();
    const limit = { requests: 2, seconds };

    for (let window = 0; window < 2; window++) {
      const first = await limiter.take('tom', limit);
      expect(first).toStrictEqual({ allowed: true, remaining: 1, resetSeconds: seconds });
      await advance(600);
      expect(await limiter.take('tom', limit)).toMatchObject({ allowed: true, remaining: 0 });
      // 600 ms have passed, and a part of a second is rounded up to a second.
      expect(await limiter.take('tom', limit)).toStrictEqual({ ...refused, resetSeconds: seconds });
      await advance((seconds - 1) * 1_000 - 600);
      expect(await limiter.take('tom', limit)).toStrictEqual({ ...refused, resetSeconds: 1 });
      await advance(1_000);
    }
  });

  it.each([
    ['back', -2],
    ['forward', 2],
  ])('continues the same window when the wall clock is set %s by two hours', async (_, hours) => {
    const { limiter, advance } = await opened();
    const limit = { requests: 1, seconds };
    await limiter.take('tom', limit);
    await limiter.take('ann', { requests: 2, seconds });

    vi.setSystemTime(Date.now() + hours * 3_600_000);

    expect(await limiter.take('tom', limit)).toStrictEqual(refused);
    expect(await limiter.take('ann', { requests: 2, seconds })).toStrictEqual({ ...refused, allowed: true });
    await advance(seconds * 1_000);
    expect(await limiter.take('tom', limit)).toMatchObject({ allowed: true });
  });
}
