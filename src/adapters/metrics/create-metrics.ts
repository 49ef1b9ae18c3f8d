import { AggregatorRegistry, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { around } from '../../application/around.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { StorageMeter, StorageProbe } from '../../application/ports/storage-health.ts';
import { countDecisions, countVerifications, exposeState } from './port-metrics.ts';
import { type MeasuredApi, RequestMetrics } from './request-metrics.ts';
import { KEY_OPERATIONS, PET_OPERATIONS, StorageMetrics } from './storage-metrics.ts';

type Build = { readonly version: string; readonly commit: string };

/** The metrics of a process. */
export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Also measures the process from now on: its event loop, its memory and its garbage collection. Each function of the
 * result that takes a port returns one that measures its calls, and settles as it does.
 *
 * @param build the version and the commit of the program
 * @param worker the number of this process if it is a worker of `node:cluster`. Each of its series then has the number
 *   as a label, and the primary process serves all of them. Without the label, the sum over the workers would
 *   fall when one of them ends, and Prometheus would take that for a restart of all.
 */
export function createMetrics(api: MeasuredApi, build: Build, worker?: number) {
  const registry = new Registry();
  if (worker !== undefined) registry.setDefaultLabels({ worker: String(worker) });
  exposeBuild(registry, build);
  const requests = new RequestMetrics(registry, api);
  const storage = new StorageMetrics(registry);
  const measure = storage.measure.bind(storage);
  collectDefaultMetrics({ register: registry });
  return {
    ...countVerifications(registry),
    requests,
    /** For the storage, when it is opened. */
    meter: storage as StorageMeter,
    pets: (pets: PetRepository) => around(pets, PET_OPERATIONS, measure),
    keys: (keys: ApiKeyRepository) => around(keys, KEY_OPERATIONS, measure),
    limiter: (limiter: RateLimiter) =>
      countDecisions(around(limiter, { take: 'count_request' }, measure), registry),
    probe: (probe: StorageProbe) => exposeState(around(probe, { check: 'check' }, measure), registry),
    /** What `textOfWorkers` takes. */
    series: () => registry.getMetricsAsJSON(),
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

/** What a worker has measured, as another process gets it. */
export type Series = Awaited<ReturnType<Metrics['series']>>;

/**
 * The text of a scrape of all workers.
 *
 * @param workers the series of each by its number. `undefined` if it has not answered
 */
export function textOfWorkers(workers: readonly (readonly [number, Series | undefined])[]): Promise<string> {
  const registry = AggregatorRegistry.aggregate(workers.flatMap(([, series]) => (series ? [series] : [])));
  const up = new Gauge({
    name: 'petstore_worker_up',
    help: '1 if the worker has answered this scrape, otherwise 0: it starts, or it hangs.',
    labelNames: ['worker'],
    registers: [registry],
  });
  for (const [worker, series] of workers) up.set({ worker }, series === undefined ? 0 : 1);
  return registry.metrics();
}
