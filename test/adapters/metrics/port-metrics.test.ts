import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { InMemoryRateLimiter } from '../../../src/adapters/memory/rate-limiter.ts';
import { InMemoryTokenVerifier, knownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
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

const COUNT = 'petstore_storage_operation_duration_seconds_count';

it('the series of a process have its build and each check of its storage', async () => {
  const metrics = createMetrics(API, BUILD);
  const storage = metrics.storage(await aStorage());
  await storage.probe.check();
  const series = seriesOf(await metrics.text());
  expect(series.get('petstore_build_info{version="1.2.3",commit="0123456789ab"}')).toBe(1);
  expect(series.get('petstore_storage_ready')).toBe(1);
  expect(seriesOf(await metrics.text()).get(`${COUNT}{operation="check"}`)).toBeGreaterThanOrEqual(2);
});

// Pets are measured in the same way: main/service/metrics.test.ts has their names.
it('a measured repository answers as the other one does, and counts each operation under its name', async () => {
  const metrics = createMetrics(API, BUILD);
  const other = new InMemoryApiKeyRepository();
  const { keys } = metrics.storage(await aStorage({ keys: other }));
  const key = aKey();
  const at = key.createdAt;
  await keys.insert(key);
  await keys.recordUse(new Map([[key.id, at]]));
  expect(await keys.findById(key.id)).toStrictEqual({ ...key, lastUsedAt: at });
  expect(await keys.list()).toStrictEqual(await other.list());
  expect(await keys.expire(key.id, at)).toStrictEqual({ ...key, lastUsedAt: at, expiresAt: at });
  expect(await keys.revoke(key.id, at)).toStrictEqual(await other.findById(key.id));
  const operations = ['insert_key', 'find_key', 'list_keys', 'revoke_key', 'expire_key', 'record_key_uses'];
  expect(nonZero(seriesOf(await metrics.text()), COUNT)).toStrictEqual(
    Object.fromEntries(operations.map((operation) => [`${COUNT}{operation="${operation}"}`, 1])),
  );
});

it('a measured rate limiter counts its decisions', async () => {
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

/** A measured probe, and the text of a scrape that asks it. */
async function scrape(check: StorageProbe['check']) {
  const registry = new Registry();
  const probe = exposeState({ check }, registry);
  return { probe, registry, text: await registry.metrics() };
}

it.each<[string, StorageProbe['check'], number]>([
  ['ready', async () => ({ lastId: 0n }), 1],
  ['not ready', () => Promise.reject(AWAY), 0],
  // It answers after more than 0.5 s.
  ['silent', () => sleep(1_000, { lastId: 0n }, { ref: false }), 0],
])('a measured probe says at each scrape that the storage is %s', async (_, check, ready) => {
  const { text } = await scrape(check);
  expect(seriesOf(text).get('petstore_storage_ready')).toBe(ready);
});

it('a measured probe says how many ids were left at the latest check', async () => {
  const states = [9n, 7n].map((left) => ({ lastId: MAX_PET_ID - left }));
  const { probe, registry } = await scrape(async () => states.shift() ?? Promise.reject(AWAY));
  expect(await probe.check()).toStrictEqual({ lastId: MAX_PET_ID - 7n });
  expect(seriesOf(await registry.metrics()).get('petstore_pet_ids_left')).toBe(7);
});

it('a measured probe does not take a bug for an outage', async () => {
  await expect(scrape(() => Promise.reject(new TypeError('a bug')))).rejects.toThrow('a bug');
});

it('a measured verifier counts what is accepted and what cannot be checked, and is told what is refused', async () => {
  const metrics = createMetrics(API, BUILD);
  const known = new InMemoryTokenVerifier([knownKey({ label: 'tom', token: 'tom-0123456789abcdef' })]);
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
