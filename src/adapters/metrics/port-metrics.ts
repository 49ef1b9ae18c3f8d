import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { around } from '../../application/ports/around.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { Allowance } from '../../domain/rate-limit.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageProbe } from '../../application/ports/storage-health.ts';
import type { Caller, TokenRefusal, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { STORAGE_OPERATIONS } from '../../application/ports/storage-operations.ts';
import { petIdsLeft } from '../../domain/pet.ts';
import { exposeCounter, exposeGauge } from './expose.ts';

function reportOutcome<Result>(succeeded: (result: Result) => void, failed: () => void) {
  return <R extends Result>(call: () => Promise<R>): Promise<R> => {
    const promise = call();
    void promise.then(succeeded, failed);
    return promise;
  };
}

export function countDecisions(limiter: RateLimiter, registry: Registry): RateLimiter {
  const count = exposeCounter(registry, {
    name: 'petstore_rate_limit_decisions_total',
    help: 'Requests of keys with a limit: within the limit, above the limit, or not counted because of an error.',
    label: 'decision',
    values: ['allowed', 'limited', 'failed'],
  });
  const report = reportOutcome(
    ({ allowed }: Allowance) => count(allowed ? 'allowed' : 'limited'),
    () => count('failed'),
  );
  return around(limiter, STORAGE_OPERATIONS.limiter, () => report);
}

/** The verifier of stored keys reports refusals itself, because only this verifier knows the reasons. */
export function countVerifications(registry: Registry) {
  const count = exposeCounter(registry, {
    name: 'petstore_key_verifications_total',
    help: 'Verifications of API keys by their outcome.',
    label: 'outcome',
    /** `failed`: the key could not be checked, or there is a bug. */
    values: ['accepted', 'unknown', 'expired', 'revoked', 'failed'],
  });
  const report = reportOutcome(
    (caller: Caller | undefined) => caller && count('accepted'),
    () => count('failed'),
  );
  return {
    onTokenRefused: (reason: TokenRefusal) => count(reason),
    tokens: (tokens: TokenVerifier) => around(tokens, { verify: 'verify' }, () => report),
  };
}

const SCRAPE_MS = 500;

export function exposeState(probe: StorageProbe, registry: Registry): StorageProbe {
  let lastId = 0n;
  const check = async () => {
    const state = await probe.check();
    lastId = state.lastId;
    return state;
  };
  exposeGauge(registry, {
    name: 'petstore_storage_ready',
    help: '1 if the storage answers within 0.5 s at the time of the scrape and can serve requests, otherwise 0.',
    read: () => Promise.race([check().then(() => 1, notReady), sleep(SCRAPE_MS, 0, { ref: false })]),
  });
  exposeGauge(registry, {
    name: 'petstore_pet_ids_left',
    help: 'How many ids were left for new pets at the latest check.',
    read: () => Number(petIdsLeft(lastId)),
  });
  return { check };
}

function notReady(error: unknown): 0 {
  if (!(error instanceof StorageUnavailable)) throw error;
  return 0;
}
