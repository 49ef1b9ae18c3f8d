import { describe, expect, it, vi } from 'vitest';
import type { RateLimiter } from '../../src/application/ports/rate-limiter.ts';
import { RATE_LIMIT_MAX_REQUESTS, RATE_LIMIT_MAX_SECONDS } from '../../src/domain/api-key.ts';
import { fakeClock } from '../support/fake-clock.ts';

type Opened = {
  readonly limiter: RateLimiter;
  /** Moves the counts on a server into the past. */
  readonly age?: (ms: number) => Promise<unknown>;
};

/**
 * The contract of {@link RateLimiter}. The clocks of this process stand still during a test.
 *
 * @param opener opens a limiter that has counted nothing
 */
export function rateLimiterContract(name: string, opener: () => Promise<Opened>): void {
  /** Longer than any test. */
  const seconds = 3_600;
  /** The clock of a server goes on. */
  const rest = expect.toSatisfy((reset: number) => reset > seconds / 2 && reset <= seconds);
  const admitted = (remaining: number) => ({ allowed: true, remaining, resetSeconds: rest });
  const refused = { allowed: false, remaining: 0, resetSeconds: rest };

  async function opened() {
    const { limiter, age } = await opener();
    const clock = fakeClock('Date', 'setTimeout', 'clearTimeout');
    const advance = async (ms: number) => {
      clock.advance(ms);
      await age?.(ms);
    };
    return { limiter, advance };
  }
  const open = async () => (await opened()).limiter;

  describe(`RateLimiter contract: ${name}`, () => {
    it('counts down to zero and stays there', async () => {
      const limiter = await open();

      const taken = [];
      for (let n = 0; n < 6; n++) taken.push(await limiter.take('tom', { requests: 3, seconds }));

      expect(taken).toStrictEqual([...[2, 1, 0].map(admitted), refused, refused, refused]);
    });

    it('allows exactly as many of 1,500 concurrent requests as the limit says', async () => {
      const limiter = await open();
      const limit = { requests: 20, seconds };

      const taken = await Promise.all(Array.from({ length: 1_500 }, () => limiter.take('tom', limit)));

      const remaining = taken.filter(({ allowed }) => allowed).map((allowance) => allowance.remaining);
      expect(remaining.toSorted((a, b) => a - b)).toStrictEqual(Array.from({ length: 20 }, (_, n) => n));
      const others = taken.filter(({ allowed }) => !allowed);
      expect(others).toStrictEqual(Array.from({ length: 1_480 }, () => refused));
    });

    it('starts the next window at the announced time', async () => {
      const { limiter, advance } = await opened();
      const limit = { requests: 2, seconds };

      for (let window = 0; window < 2; window++) {
        const first = await limiter.take('tom', limit);
        expect(first).toStrictEqual({ allowed: true, remaining: 1, resetSeconds: seconds });
        expect(await limiter.take('tom', limit)).toMatchObject({ allowed: true, remaining: 0 });
        const { resetSeconds } = await limiter.take('tom', limit);
        await advance((resetSeconds - 1) * 1_000);
        expect(await limiter.take('tom', limit)).toStrictEqual({ ...refused, resetSeconds: 1 });
        await advance(1_000);
      }
    });

    it('rounds the rest of the window up to whole seconds', async () => {
      const { limiter, advance } = await opened();
      const limit = { requests: 1, seconds: 3 };

      expect(await limiter.take('tom', limit)).toMatchObject({ allowed: true, resetSeconds: 3 });
      await advance(600);
      expect(await limiter.take('tom', limit)).toMatchObject({ allowed: false, resetSeconds: 3 });
      await advance(1_000);
      expect(await limiter.take('tom', limit)).toMatchObject({ allowed: false, resetSeconds: 2 });
    });

    it.each([
      ['set back', -2],
      ['set forward', 2],
    ])('ignores the wall clock when it is %s', async (_, hours) => {
      const { limiter, advance } = await opened();
      const limit = { requests: 1, seconds };
      await limiter.take('tom', limit);
      await limiter.take('ann', { requests: 2, seconds });

      vi.setSystemTime(Date.now() + hours * 3_600_000);

      expect(await limiter.take('tom', limit)).toStrictEqual(refused);
      expect(await limiter.take('ann', { requests: 2, seconds })).toStrictEqual(admitted(0));
      await advance(seconds * 1_000);
      expect(await limiter.take('tom', limit)).toMatchObject({ allowed: true });
    });

    it('counts each key separately', async () => {
      const limiter = await open();
      const limit = { requests: 1, seconds };
      const ids = [
        'a',
        'A',
        'a.b',
        'a-b',
        'a_b',
        'ab',
        '0',
        '1',
        '__proto__',
        '0123456789abcdef',
        'k'.repeat(64),
      ];

      for (const id of ids) {
        expect(await limiter.take(id, limit), id).toMatchObject({ allowed: true, remaining: 0 });
      }
      for (const id of ids) expect(await limiter.take(id, limit), id).toMatchObject({ allowed: false });
    });

    it('counts each limit of a key separately', async () => {
      const limiter = await open();
      const limits = [
        { requests: 1, seconds },
        { requests: 1, seconds: seconds + 1 },
        { requests: 2, seconds },
        { requests: 13, seconds: 600 },
        { requests: 1, seconds: 3_600 * 2 },
      ];

      for (const limit of limits) {
        expect(await limiter.take('tom', limit)).toStrictEqual({
          allowed: true,
          remaining: limit.requests - 1,
          resetSeconds: limit.seconds,
        });
      }
      // Equal limits share a count, even as different objects.
      expect(await limiter.take('tom', { ...limits[0]! })).toMatchObject({ allowed: false });
      expect(await limiter.take('tom', { ...limits[2]! })).toMatchObject({ allowed: true, remaining: 0 });
      expect(await limiter.take('tom', { ...limits[2]! })).toMatchObject({ allowed: false });
    });

    it.each([
      { requests: 1, seconds: 1 },
      { requests: 1, seconds: RATE_LIMIT_MAX_SECONDS },
      { requests: RATE_LIMIT_MAX_REQUESTS, seconds: 1 },
      { requests: RATE_LIMIT_MAX_REQUESTS, seconds: RATE_LIMIT_MAX_SECONDS },
    ])('accepts the extremes: %o', async (limit) => {
      const limiter = await open();

      expect(await limiter.take('tom', limit)).toStrictEqual({
        allowed: true,
        remaining: limit.requests - 1,
        resetSeconds: limit.seconds,
      });
    });
  });
}
