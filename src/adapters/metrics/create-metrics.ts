import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { around } from '../../application/around.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { StorageMeter, StorageProbe } from '../../application/ports/storage-health.ts';
import { countDecisions, countVerifications, exposeState } from './port-metrics.ts';
import { type MeasuredApi, RequestMetrics } from './request-metrics.ts';
import { STORAGE_OPERATIONS } from '../../application/storage-operations.ts';
import { StorageMetrics } from './storage-metrics.ts';

type Build = { readonly version: string; readonly commit: string };

/** The metrics of a process. */
export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Also measures the process from now on: its event loop, its memory and its garbage collection. Each function of the
 * result that takes a port returns one that measures its calls, and settles as it does.
 *
 * @param build the version and the commit of the program
 */
export function createMetrics(api: MeasuredApi, build: Build) {
  const registry = new Registry();
  exposeBuild(registry, build);
  const requests = new RequestMetrics(registry, api);
  const storage = new StorageMetrics(registry);
  const measure = (operation: string) => storage.measure(operation);
  collectDefaultMetrics({ register: registry });
  return {
    ...countVerifications(registry),
    requests,
    /** For the storage, when it is opened. */
    meter: storage as StorageMeter,
    pets: (pets: PetRepository) => around(pets, STORAGE_OPERATIONS.pets, measure),
    keys: (keys: ApiKeyRepository) => around(keys, STORAGE_OPERATIONS.keys, measure),
    limiter: (limiter: RateLimiter) =>
      countDecisions(around(limiter, STORAGE_OPERATIONS.limiter, measure), registry),
    probe: (probe: StorageProbe) => exposeState(around(probe, STORAGE_OPERATIONS.probe, measure), registry),
    /** The text of a scrape, in the text format 0.0.4 of Prometheus. */
    text: () => registry.metrics(),
  };
}

function exposeBuild(registry: Registry, build: Build): void {
  const gauge = new Gauge({
    name: 'petstore_build_info',
    help: 'Always 1. The labels say which build runs.',
    labelNames: ['version', 'commit'],
    registers: [registry],
  });
  gauge.set(build, 1);
}
