import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { InMemoryRateLimiter } from '../../../src/adapters/memory/rate-limiter.ts';
import { MeasuredRateLimiter } from '../../../src/adapters/metrics/measured-rate-limiter.ts';
import { StorageMetrics } from '../../../src/adapters/metrics/storage-metrics.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { nonZero, seriesOf } from '../../support/metrics.ts';

describe('a measured rate limiter', () => {
  it('counts its decisions', async () => {
    const registry = new Registry();
    const memory = new InMemoryRateLimiter();
    const away = new StorageUnavailable('away');
    const limiter = new MeasuredRateLimiter(
      { take: (keyId, limit) => (keyId === 'away' ? Promise.reject(away) : memory.take(keyId, limit)) },
      new StorageMetrics(registry),
      registry,
    );
    for (const remaining of [1, 0, 0, 0, 0]) {
      expect(await limiter.take('tom', { requests: 2, seconds: 60 })).toMatchObject({ remaining });
    }
    await expect(limiter.take('away', { requests: 2, seconds: 60 })).rejects.toBe(away);
    const values = seriesOf(await registry.metrics());
    expect(nonZero(values, 'petstore_rate_limit_decisions_total')).toStrictEqual({
      'petstore_rate_limit_decisions_total{decision="allowed"}': 2,
      'petstore_rate_limit_decisions_total{decision="limited"}': 3,
      'petstore_rate_limit_decisions_total{decision="failed"}': 1,
    });
    expect(values.get('petstore_storage_failures_total{operation="count_request",kind="unavailable"}')).toBe(
      1,
    );
  });
});
