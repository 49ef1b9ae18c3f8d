import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { around } from '../../application/ports/around.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageProbe } from '../../application/ports/storage-probe.ts';
import type { Caller, TokenRefusal, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { petIdsLeft } from '../../domain/pet.ts';
import { exposeCountsBy, exposeFigure } from './expose.ts';
import { KEY_OPERATIONS, PET_OPERATIONS, type StorageMetrics } from './storage-metrics.ts';

// Each function returns a part that calls another one and measures the calls. It resolves and rejects as the other does.

export function measurePets(pets: PetRepository, metrics: StorageMetrics): PetRepository {
  return around(pets, PET_OPERATIONS, (operation) => metrics.measure(operation));
}

export function measureKeys(keys: ApiKeyRepository, metrics: StorageMetrics): ApiKeyRepository {
  return around(keys, KEY_OPERATIONS, (operation) => metrics.measure(operation));
}

/** Also counts the decisions of the limiter. */
export function measureLimiter(
  limiter: RateLimiter,
  metrics: StorageMetrics,
  registry: Registry,
): RateLimiter {
  const decisions = { allowed: 0, limited: 0, failed: 0 };
  exposeCountsBy(registry, 'decision', decisions, {
    name: 'petstore_rate_limit_decisions_total',
    help: 'Requests of keys with a limit: within it, beyond it, or not counted because counting failed.',
  });
  return around(limiter, { take: 'count_request' }, (operation) => {
    const measured = metrics.measure(operation);
    return async (call) => {
      try {
        const allowance = await measured(call);
        decisions[allowance.allowed ? 'allowed' : 'limited']++;
        return allowance;
      } catch (error) {
        decisions.failed++;
        throw error;
      }
    };
  });
}

/** How long a scrape waits for the storage. Shorter than the primary process waits for a worker. */
const SCRAPE_MS = 500;

/** Also asks the probe at each scrape. */
export function measureProbe(probe: StorageProbe, metrics: StorageMetrics, registry: Registry): StorageProbe {
  let lastId = 0n;
  const measured = around(probe, { check: 'check' }, (operation) => metrics.measure(operation));
  const check = async () => {
    const state = await measured.check();
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

/** Why a verification ended. `failed`: the key could not be checked, or there is a bug. */
type Outcome = 'accepted' | TokenRefusal | 'failed';

/**
 * Counts verifications of API keys by their outcome. Only the verifier of the stored keys knows why it refuses a token,
 * so it reports refusals itself.
 */
export function measureVerifications(registry: Registry) {
  const outcomes: Record<Outcome, number> = { accepted: 0, unknown: 0, expired: 0, revoked: 0, failed: 0 };
  exposeCountsBy(registry, 'outcome', outcomes, {
    name: 'petstore_key_verifications_total',
    help: 'Verifications of API keys by their outcome.',
  });
  const verify =
    () =>
    async <Found extends Caller | undefined>(call: () => Promise<Found>) => {
      try {
        const caller = await call();
        if (caller !== undefined) outcomes.accepted++;
        return caller;
      } catch (error) {
        outcomes.failed++;
        throw error;
      }
    };
  return {
    onTokenRefused: (reason: TokenRefusal) => void outcomes[reason]++,
    tokens: (tokens: TokenVerifier) => around(tokens, { verify: 'verify' }, verify),
  };
}
