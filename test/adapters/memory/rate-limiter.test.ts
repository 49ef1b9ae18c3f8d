import { describe, expect, it } from 'vitest';
import { InMemoryRateLimiter } from '../../../src/adapters/memory/rate-limiter.ts';
import { rateLimiterContract } from '../../contracts/rate-limiter.ts';

rateLimiterContract('memory', async () => new InMemoryRateLimiter());

describe('a rate limiter in memory', () => {
  it('keeps no process alive until its windows end', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();

    await new InMemoryRateLimiter().take('tom', { requests: 1, seconds: 86_400 });

    expect(timers()).toBe(before);
  });
});
