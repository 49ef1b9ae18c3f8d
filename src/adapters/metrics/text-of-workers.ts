import { AggregatorRegistry, Gauge } from 'prom-client';
import type { Metrics } from './create-metrics.ts';

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
