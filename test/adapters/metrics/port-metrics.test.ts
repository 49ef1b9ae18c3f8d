import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { InMemoryRateLimiter } from '../../../src/adapters/memory/rate-limiter.ts';
import { InMemoryTokenVerifier, toKnownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { createMetrics } from '../../../src/adapters/metrics/create-metrics.ts';
import { exposeState } from '../../../src/adapters/metrics/port-metrics.ts';
import type { RateLimiter } from '../../../src/application/ports/rate-limiter.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { StorageProbe } from '../../../src/application/ports/storage-health.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { aKey } from '../../support/api-keys.ts';
import { aStorage, BUILD, nonZero, seriesOf } from '../../support/metrics.ts';

const MEASURED_API = { isDeprecated: () => false, statuses: [] };

const OUTAGE = new StorageUnavailable('away');

const CALL_METRIC = 'petstore_storage_operation_duration_seconds_count';

it('createMetrics exposes the version and commit of the service, and counts the checks of the storage', async () => {
  const metrics = createMetrics(MEASURED_API, BUILD);
  const storage = metrics.storage(await aStorage());
  await storage.probe.check();
  const series = seriesOf(await metrics.text());
  expect(series.get('petstore_build_info{version="1.2.3",commit="0123456789ab"}')).toBe(1);
  expect(series.get('petstore_storage_ready')).toBe(1);
  // One check is the call above. Each scrape makes another check.
  expect(seriesOf(await metrics.text()).get(`${CALL_METRIC}{operation="check"}`)).toBeGreaterThanOrEqual(2);
});

// main/service/metrics.test.ts tests the names of the operations of a pet repository.
it('metrics do not change the results of a repository, and count its operations by name', async () => {
  const metrics = createMetrics(MEASURED_API, BUILD);
  const unmeasuredKeys = new InMemoryApiKeyRepository();
  const { keys } = metrics.storage(await aStorage({ keys: unmeasuredKeys }));
  const key = aKey();
  const time = key.createdAt;
  await keys.insert(key);
  await keys.recordUse(new Map([[key.id, time]]));
  expect(await keys.findById(key.id)).toStrictEqual({ ...key, lastUsedAt: time });
  expect(await keys.list()).toStrictEqual(await unmeasuredKeys.list());
  expect(await keys.expire(key.id, time)).toStrictEqual({ ...key, lastUsedAt: time, expiresAt: time });
  expect(await keys.revoke(key.id, time)).toStrictEqual(await unmeasuredKeys.findById(key.id));
  const operations = ['insert_key', 'find_key', 'list_keys', 'revoke_key', 'expire_key', 'record_key_uses'];
  expect(nonZero(seriesOf(await metrics.text()), CALL_METRIC)).toStrictEqual(
    Object.fromEntries(operations.map((operation) => [`${CALL_METRIC}{operation="${operation}"}`, 1])),
  );
});

it('metrics count the decisions and the failures of a rate limiter', async () => {
  const metrics = createMetrics(MEASURED_API, BUILD);
  const memoryLimiter = new InMemoryRateLimiter();
  const take: RateLimiter['take'] = (keyId, limit) =>
    keyId === 'outage' ? Promise.reject(OUTAGE) : memoryLimiter.take(keyId, limit);
  const { limiter } = metrics.storage(await aStorage({ limiter: { take } }));
  // The limit is 2 requests: the limiter allows the first two, and refuses the other three.
  for (const remaining of [1, 0, 0, 0, 0]) {
    expect(await limiter.take('tom', { requests: 2, seconds: 60 })).toMatchObject({ remaining });
  }
  await expect(limiter.take('outage', { requests: 2, seconds: 60 })).rejects.toBe(OUTAGE);
  const values = seriesOf(await metrics.text());
  expect(nonZero(values, 'petstore_rate_limit_decisions_total')).toStrictEqual({
    'petstore_rate_limit_decisions_total{decision="allowed"}': 2,
    'petstore_rate_limit_decisions_total{decision="limited"}': 3,
    'petstore_rate_limit_decisions_total{decision="failed"}': 1,
  });
  expect(values.get('petstore_storage_failures_total{operation="count_request",kind="unavailable"}')).toBe(1);
});

/** Exposes the state of a storage that has this probe, and scrapes the metrics once. Each scrape calls the probe. */
async function exposeAndScrape(check: StorageProbe['check']) {
  const registry = new Registry();
  const probe = exposeState({ check }, registry);
  return { probe, registry, text: await registry.metrics() };
}

it.each<[string, StorageProbe['check'], number]>([
  ['1 if the storage is ready', async () => ({ lastId: 0n }), 1],
  ['0 if the storage is not ready', () => Promise.reject(OUTAGE), 0],
  ['0 if the storage does not answer within 0.5 s', () => sleep(1_000, { lastId: 0n }, { ref: false }), 0],
])('petstore_storage_ready is %s', async (_, check, ready) => {
  const { text } = await exposeAndScrape(check);
  expect(seriesOf(text).get('petstore_storage_ready')).toBe(ready);
});

it('petstore_pet_ids_left is the number of ids that were left at the latest successful check', async () => {
  const results = [9n, 7n].map((left) => ({ lastId: MAX_PET_ID - left }));
  const { probe, registry } = await exposeAndScrape(async () => results.shift() ?? Promise.reject(OUTAGE));
  expect(await probe.check()).toStrictEqual({ lastId: MAX_PET_ID - 7n });
  // The check of this scrape fails, because the list of results is empty.
  expect(seriesOf(await registry.metrics()).get('petstore_pet_ids_left')).toBe(7);
});

it('a scrape fails if the probe rejects with an error that is not an outage', async () => {
  await expect(exposeAndScrape(() => Promise.reject(new TypeError('a bug')))).rejects.toThrow('a bug');
});

it('metrics count accepted tokens, tokens that cannot be checked, and calls of onTokenRefused', async () => {
  const metrics = createMetrics(MEASURED_API, BUILD);
  const verifier = new InMemoryTokenVerifier([toKnownKey({ label: 'tom', token: 'tom-0123456789abcdef' })]);
  const measuredVerifier = metrics.tokens({
    verify: (token) => (token === 'outage' ? Promise.reject(OUTAGE) : verifier.verify(token)),
  });
  for (let n = 0; n < 2; n++) {
    expect(await measuredVerifier.verify('tom-0123456789abcdef')).toMatchObject({ id: 'tom' });
  }
  expect(await measuredVerifier.verify('unknown-token')).toBeUndefined();
  await expect(measuredVerifier.verify('outage')).rejects.toBe(OUTAGE);
  metrics.onTokenRefused('revoked');
  expect(nonZero(seriesOf(await metrics.text()), 'petstore_key_verifications_total')).toStrictEqual({
    'petstore_key_verifications_total{outcome="accepted"}': 2,
    'petstore_key_verifications_total{outcome="failed"}': 1,
    'petstore_key_verifications_total{outcome="revoked"}': 1,
  });
});
