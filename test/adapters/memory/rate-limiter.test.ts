import { describe, expect, it } from 'vitest';
import { InMemoryRateLimiter } from '../../../src/adapters/memory/rate-limiter.ts';

describe('a rate limiter in memory', () => {
  it('never announces more than the length of the window, at any fraction of a millisecond', async () => {
    const announced = new Set<number>();
    for (let n = 0; n < 1_000; n++) {
      const limiter = new InMemoryRateLimiter(() => 5_000 + n * Math.PI);
      const { resetSeconds } = await limiter.take('tom', { requests: 1, seconds: 1 });
      announced.add(resetSeconds);
    }
    expect(announced).toStrictEqual(new Set([1]));
  });

  it('does not keep the process alive until its windows end', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();

    await new InMemoryRateLimiter().take('tom', { requests: 1, seconds: 86_400 });

    expect(timers()).toBe(before);
  });
});
