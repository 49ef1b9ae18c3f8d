import { InMemoryRateLimiter } from '../../../src/adapters/memory/rate-limiter.ts';
import { rateLimiterModel } from '../../contracts/rate-limiter-model.ts';

rateLimiterModel(
  'memory',
  async () => {
    let nowMs = 0;
    const limiters = [new InMemoryRateLimiter(() => nowMs)];
    return { limiters, advance: (ms) => void (nowMs += ms) };
  },
  { runs: 80, hasClock: true },
);
