import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { around } from '../../application/ports/around.ts';
import type { ServicePorts } from '../../application/ports/storage-kind.ts';
import { countDecisions, countVerifications, exposeState } from './port-metrics.ts';
import { type MeasuredApi, requestMetrics } from './request-metrics.ts';
import { STORAGE_OPERATIONS } from '../../application/ports/storage-operations.ts';
import { storageMetrics } from './storage-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Also measures the event loop, the memory and the garbage collection of the process. A wrapped port resolves and
 * rejects as the port does.
 */
export function createMetrics(api: MeasuredApi, build: Readonly<Record<'version' | 'commit', string>>) {
  const registry = new Registry();
  new Gauge({
    name: 'petstore_build_info',
    help: 'Always 1. The labels say which build runs.',
    labelNames: ['version', 'commit'],
    registers: [registry],
  }).set(build, 1);
  const { meter, measure } = storageMetrics(registry);
  collectDefaultMetrics({ register: registry });
  return {
    ...countVerifications(registry),
    requests: requestMetrics(registry, api),
    meter,
    storage: (storage: Required<ServicePorts>): Required<ServicePorts> => ({
      pets: around(storage.pets, STORAGE_OPERATIONS.pets, measure),
      keys: around(storage.keys, STORAGE_OPERATIONS.keys, measure),
      limiter: countDecisions(around(storage.limiter, STORAGE_OPERATIONS.limiter, measure), registry),
      probe: exposeState(around(storage.probe, STORAGE_OPERATIONS.probe, measure), registry),
    }),
    /** Text format 0.0.4 of Prometheus. */
    text: () => registry.metrics(),
  };
}
