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

const API = { isDeprecated: () => false, statuses: [] };

const AWAY = new StorageUnavailable('away');

const CALL_COUNT = 'petstore_storage_operation_duration_seconds_count';

it('createMetrics exposes the build of the process, and counts each check of the storage', async () => {
  const metrics = createMetrics(API, BUILD);
  const storage = metrics.storage(await aStorage());
  await storage.probe.check();
  const series = seriesOf(await metrics.text());
  expect(series.get('petstore_build_info{version="1.2.3",commit="0123456789ab"}')).toBe(1);
  expect(series.get('petstore_storage_ready')).toBe(1);
  expect(seriesOf(await metrics.text()).get(`${CALL_COUNT}{operation="check"}`)).toBeGreaterThanOrEqual(2);
});

// A repository of pets is measured in the same way: main/service/metrics.test.ts tests the names of its operations.
it('metrics of a repository change no result, and count each operation by its name', async () => {
  const metrics = createMetrics(API, BUILD);
  const unmeasured = new InMemoryApiKeyRepository();
  const { keys } = metrics.storage(await aStorage({ keys: unmeasured }));
  const key = aKey();
  const at = key.createdAt;
  await keys.insert(key);
  await keys.recordUse(new Map([[key.id, at]]));
  expect(await keys.findById(key.id)).toStrictEqual({ ...key, lastUsedAt: at });
  expect(await keys.list()).toStrictEqual(await unmeasured.list());
  expect(await keys.expire(key.id, at)).toStrictEqual({ ...key, lastUsedAt: at, expiresAt: at });
  expect(await keys.revoke(key.id, at)).toStrictEqual(await unmeasured.findById(key.id));
  const operations = ['insert_key', 'find_key', 'list_keys', 'revoke_key', 'expire_key', 'record_key_uses'];
  expect(nonZero(seriesOf(await metrics.text()), CALL_COUNT)).toStrictEqual(
    Object.fromEntries(operations.map((operation) => [`${CALL_COUNT}{operation="${operation}"}`, 1])),
  );
});

it('metrics of a rate limiter count its decisions', async () => {
  const metrics = createMetrics(API, BUILD);
  const memory = new InMemoryRateLimiter();
  const take: RateLimiter['take'] = (keyId, limit) =>
    keyId === 'away' ? Promise.reject(AWAY) : memory.take(keyId, limit);
  const { limiter } = metrics.storage(await aStorage({ limiter: { take } }));
  for (const remaining of [1, 0, 0, 0, 0]) {
    expect(await limiter.take('tom', { requests: 2, seconds: 60 })).toMatchObject({ remaining });
  }
  await expect(limiter.take('away', { requests: 2, seconds: 60 })).rejects.toBe(AWAY);
  const values = seriesOf(await metrics.text());
  expect(nonZero(values, 'petstore_rate_limit_decisions_total')).toStrictEqual({
    'petstore_rate_limit_decisions_total{decision="allowed"}': 2,
    'petstore_rate_limit_decisions_total{decision="limited"}': 3,
    'petstore_rate_limit_decisions_total{decision="failed"}': 1,
  });
  expect(values.get('petstore_storage_failures_total{operation="count_request",kind="unavailable"}')).toBe(1);
});

/** Adds metrics to a probe, and scrapes them once, which calls the probe. */
async function exposeAndScrape(check: StorageProbe['check']) {
  const registry = new Registry();
  const probe = exposeState({ check }, registry);
  return { probe, registry, text: await registry.metrics() };
}

it.each<[string, StorageProbe['check'], number]>([
  ['1 if the storage is ready', async () => ({ lastId: 0n }), 1],
  ['0 if the storage is not ready', () => Promise.reject(AWAY), 0],
  ['0 if the storage does not answer within 0.5 s', () => sleep(1_000, { lastId: 0n }, { ref: false }), 0],
])('petstore_storage_ready is %s', async (_, check, ready) => {
  const { text } = await exposeAndScrape(check);
  expect(seriesOf(text).get('petstore_storage_ready')).toBe(ready);
});

it('petstore_pet_ids_left is the number of ids that were left at the latest successful check', async () => {
  const states = [9n, 7n].map((left) => ({ lastId: MAX_PET_ID - left }));
  const { probe, registry } = await exposeAndScrape(async () => states.shift() ?? Promise.reject(AWAY));
  expect(await probe.check()).toStrictEqual({ lastId: MAX_PET_ID - 7n });
  expect(seriesOf(await registry.metrics()).get('petstore_pet_ids_left')).toBe(7);
});

it('a scrape fails if the probe rejects with a bug instead of an outage', async () => {
  await expect(exposeAndScrape(() => Promise.reject(new TypeError('a bug')))).rejects.toThrow('a bug');
});

it('metrics of a token verifier count accepted tokens, failed checks, and refusals that are reported separately', async () => {
  const metrics = createMetrics(API, BUILD);
  const known = new InMemoryTokenVerifier([toKnownKey({ label: 'tom', token: 'tom-0123456789abcdef' })]);
  const verifier = metrics.tokens({
    verify: (token) => (token === 'away' ? Promise.reject(AWAY) : known.verify(token)),
  });
  for (let n = 0; n < 2; n++) {
    expect(await verifier.verify('tom-0123456789abcdef')).toMatchObject({ id: 'tom' });
  }
  expect(await verifier.verify('nobody')).toBeUndefined();
  await expect(verifier.verify('away')).rejects.toBe(AWAY);
  metrics.onTokenRefused('revoked');
  expect(nonZero(seriesOf(await metrics.text()), 'petstore_key_verifications_total')).toStrictEqual({
    'petstore_key_verifications_total{outcome="accepted"}': 2,
    'petstore_key_verifications_total{outcome="failed"}': 1,
    'petstore_key_verifications_total{outcome="revoked"}': 1,
  });
});
