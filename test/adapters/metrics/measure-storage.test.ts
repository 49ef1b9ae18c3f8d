import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { InMemoryRateLimiter } from '../../../src/adapters/memory/rate-limiter.ts';
import {
  measureKeys,
  measureLimiter,
  measurePets,
  measureProbe,
} from '../../../src/adapters/metrics/measure-storage.ts';
import { StorageMetrics } from '../../../src/adapters/metrics/storage-metrics.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { StorageProbe } from '../../../src/application/ports/storage-health.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { aKey } from '../../support/api-keys.ts';
import { idempotencyFor, petsAfter } from '../../support/archived-pets.ts';
import { nonZero, seriesOf } from '../../support/metrics.ts';

describe('a measured repository of pets', () => {
  it('answers as the other repository does, and counts each operation under its name', async () => {
    const registry = new Registry();
    const pets = measurePets(await petsAfter(), new StorageMetrics(registry));
    const rex = { name: 'Rex', categoryId: 7n, status: 'available' } as const;
    expect(await pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
    const once = await pets.insertOnce({ ...rex, status: 'sold' }, idempotencyFor('a'));
    expect(once).toStrictEqual({ pet: { id: 2n, ...rex, status: 'sold' }, replayed: false });
    expect(await pets.findById(1n)).toStrictEqual({ id: 1n, ...rex });
    expect(await pets.list({ limit: 1, after: 1n, status: 'sold' })).toStrictEqual([once.pet]);
    const counted = nonZero(
      seriesOf(await registry.metrics()),
      'petstore_storage_operation_duration_seconds_count',
    );
    expect(counted).toStrictEqual(
      Object.fromEntries(
        ['insert_pet', 'insert_pet_once', 'find_pet', 'list_pets'].map((operation) => [
          `petstore_storage_operation_duration_seconds_count{operation="${operation}"}`,
          1,
        ]),
      ),
    );
  });
});

describe('a measured repository of keys', () => {
  it('answers as the other repository does, and counts each operation under its name', async () => {
    const registry = new Registry();
    const other = new InMemoryApiKeyRepository();
    const keys = measureKeys(other, new StorageMetrics(registry));
    const key = aKey();
    const at = key.createdAt;
    await keys.insert(key);
    await keys.recordUse(new Map([[key.id, at]]));
    expect(await keys.findById(key.id)).toStrictEqual({ ...key, lastUsedAt: at });
    expect(await keys.list()).toStrictEqual(await other.list());
    expect(await keys.expire(key.id, at)).toStrictEqual({ ...key, lastUsedAt: at, expiresAt: at });
    expect(await keys.revoke(key.id, at)).toStrictEqual(await other.findById(key.id));
    const operations = ['insert_key', 'find_key', 'list_keys', 'revoke_key', 'expire_key', 'record_key_uses'];
    expect(
      nonZero(seriesOf(await registry.metrics()), 'petstore_storage_operation_duration_seconds_count'),
    ).toStrictEqual(
      Object.fromEntries(
        operations.map((operation) => [
          `petstore_storage_operation_duration_seconds_count{operation="${operation}"}`,
          1,
        ]),
      ),
    );
  });
});

describe('a measured rate limiter', () => {
  it('counts its decisions', async () => {
    const registry = new Registry();
    const memory = new InMemoryRateLimiter();
    const away = new StorageUnavailable('away');
    const limiter = measureLimiter(
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

describe('a measured probe', () => {
  const AWAY = new StorageUnavailable('away');

  /** A measured probe, and the text of a scrape that asks it. */
  async function scrape(check: StorageProbe['check']) {
    const registry = new Registry();
    const probe = measureProbe({ check }, new StorageMetrics(registry), registry);
    return { probe, registry, text: await registry.metrics() };
  }

  it.each<[string, StorageProbe['check'], number]>([
    ['ready', async () => ({ lastId: 0n }), 1],
    ['not ready', () => Promise.reject(AWAY), 0],
    ['silent', () => new Promise(() => {}), 0],
  ])('says at each scrape that the storage is %s', async (_, check, ready) => {
    const { text } = await scrape(check);
    expect(seriesOf(text).get('petstore_storage_ready')).toBe(ready);
  });

  it('says how many ids were left at the latest check', async () => {
    const { probe, registry } = await scrape(async () => ({ lastId: MAX_PET_ID - 7n }));
    expect(await probe.check()).toStrictEqual({ lastId: MAX_PET_ID - 7n });
    expect(seriesOf(await registry.metrics()).get('petstore_pet_ids_left')).toBe(7);
  });

  it('measures each check, that of a scrape included', async () => {
    const [storage, registry] = [new Registry(), new Registry()];
    const probe = measureProbe({ check: () => Promise.reject(AWAY) }, new StorageMetrics(storage), registry);
    const failures = async () =>
      nonZero(seriesOf(await storage.metrics()), 'petstore_storage_failures_total');
    const name = 'petstore_storage_failures_total{operation="check",kind="unavailable"}';
    await expect(probe.check()).rejects.toBe(AWAY);
    expect(await failures()).toStrictEqual({ [name]: 1 });
    await registry.metrics();
    expect(await failures()).toStrictEqual({ [name]: 2 });
  });

  it('does not take a bug for an outage', async () => {
    await expect(scrape(() => Promise.reject(new TypeError('a bug')))).rejects.toThrow('a bug');
  });
});
