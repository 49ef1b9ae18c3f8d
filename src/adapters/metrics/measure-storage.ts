import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageProbe } from '../../application/ports/storage-health.ts';
import { petIdsLeft } from '../../domain/pet.ts';
import { exposeCounts, exposeFigure } from './expose.ts';
import type { StorageMetrics } from './storage-metrics.ts';

// Each function returns a part that calls another one and measures the calls. It resolves and rejects as the other does.

export function measurePets(pets: PetRepository, metrics: StorageMetrics): PetRepository {
  return {
    insert: (pet) => metrics.measure('insert_pet', () => pets.insert(pet)),
    insertOnce: (pet, idempotency) =>
      metrics.measure('insert_pet_once', () => pets.insertOnce(pet, idempotency)),
    findById: (id) => metrics.measure('find_pet', () => pets.findById(id)),
    list: (query) => metrics.measure('list_pets', () => pets.list(query)),
  };
}

export function measureKeys(keys: ApiKeyRepository, metrics: StorageMetrics): ApiKeyRepository {
  return {
    insert: (key) => metrics.measure('insert_key', () => keys.insert(key)),
    findById: (id) => metrics.measure('find_key', () => keys.findById(id)),
    list: () => metrics.measure('list_keys', () => keys.list()),
    revoke: (id, at) => metrics.measure('revoke_key', () => keys.revoke(id, at)),
    expire: (id, at) => metrics.measure('expire_key', () => keys.expire(id, at)),
    recordUse: (uses) => metrics.measure('record_key_uses', () => keys.recordUse(uses)),
  };
}

/** Also counts the decisions of the limiter. */
export function measureLimiter(
  limiter: RateLimiter,
  metrics: StorageMetrics,
  registry: Registry,
): RateLimiter {
  const decisions = { allowed: 0, limited: 0, failed: 0 };
  exposeCounts(
    registry,
    {
      name: 'petstore_rate_limit_decisions_total',
      help: 'Requests of keys with a limit: within it, beyond it, or not counted because counting failed.',
      labelNames: ['decision'],
    },
    () => Object.entries(decisions).map(([decision, count]) => [{ decision }, count] as const),
  );
  return {
    async take(keyId, limit) {
      try {
        const allowance = await metrics.measure('count_request', () => limiter.take(keyId, limit));
        decisions[allowance.allowed ? 'allowed' : 'limited']++;
        return allowance;
      } catch (error) {
        decisions.failed++;
        throw error;
      }
    },
  };
}

/** How long a scrape waits for the storage. Shorter than the primary process waits for a worker. */
const SCRAPE_MS = 500;

/** Also asks the probe at each scrape. */
export function measureProbe(probe: StorageProbe, metrics: StorageMetrics, registry: Registry): StorageProbe {
  let lastId = 0n;
  const check = async () => {
    const state = await metrics.measure('check', () => probe.check());
    lastId = state.lastId;
    return state;
  };
  const isReady = async () => {
    try {
      await check();
      return 1;
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      return 0;
    }
  };
  exposeFigure(
    registry,
    {
      name: 'petstore_storage_ready',
      help: '1 if the storage answers within 0.5 s at the time of the scrape and can serve requests, otherwise 0.',
    },
    () => Promise.race([isReady(), sleep(SCRAPE_MS, 0, { ref: false })]),
  );
  exposeFigure(
    registry,
    { name: 'petstore_pet_ids_left', help: 'How many ids were left for new pets at the latest check.' },
    () => Number(petIdsLeft(lastId)),
  );
  return { check };
}
