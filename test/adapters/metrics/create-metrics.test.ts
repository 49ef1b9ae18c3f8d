import { expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { InMemoryRateLimiter } from '../../../src/adapters/memory/rate-limiter.ts';
import { InMemoryTokenVerifier, knownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { createMetrics } from '../../../src/adapters/metrics/create-metrics.ts';
import { seriesOf } from '../../support/metrics.ts';

it.each([
  [undefined, '', 'process_start_time_seconds'],
  [3, '{worker="3"}', 'process_start_time_seconds{worker="3"}'],
])('the series of worker %s have the label "%s"', async (worker, label, startTime) => {
  const { meter, text } = createMetrics('/v1/pets/:petId', worker);
  meter.insertsCommitted(7);
  const series = seriesOf(await text());
  expect(series.get(`petstore_storage_commit_inserts_sum${label}`)).toBe(7);
  expect(series.has(startTime)).toBe(true);
  const labelled = series.keys().filter((name) => name.includes('worker="3"'));
  expect(labelled.toArray()).toHaveLength(worker === undefined ? 0 : series.size);
});

it('the series of a process have what each measured part does', async () => {
  const metrics = createMetrics('/v1/pets/:petId');
  const token = 'tom-0123456789abcdef';
  const tokens = metrics.tokens(new InMemoryTokenVerifier([knownKey({ label: 'tom', token })]));
  expect(await metrics.pets(new InMemoryPetRepository()).list({ limit: 1 })).toStrictEqual([]);
  expect(await metrics.keys(new InMemoryApiKeyRepository()).list()).toStrictEqual([]);
  await metrics.limiter(new InMemoryRateLimiter()).take('tom', { requests: 1, seconds: 60 });
  expect(await tokens.verify(token)).toMatchObject({ id: 'tom' });
  metrics.onTokenRefused('revoked');
  // Each scrape asks it.
  metrics.probe({ check: async () => ({ lastId: 0n }) });

  expect(Object.fromEntries(seriesOf(await metrics.text()))).toMatchObject({
    'petstore_storage_operation_duration_seconds_count{operation="list_pets"}': 1,
    'petstore_storage_operation_duration_seconds_count{operation="list_keys"}': 1,
    'petstore_storage_operation_duration_seconds_count{operation="count_request"}': 1,
    'petstore_rate_limit_decisions_total{decision="allowed"}': 1,
    'petstore_key_verifications_total{outcome="accepted"}': 1,
    'petstore_key_verifications_total{outcome="revoked"}': 1,
    petstore_storage_ready: 1,
  });
});
