import { AggregatorRegistry } from 'prom-client';

/**
 * For the primary process of `node:cluster`.
 *
 * @returns a function that asks all workers for their metrics. It rejects if one of them does not answer within 5 s
 */
export function textOfWorkers(): () => Promise<string> {
  const registry = new AggregatorRegistry();
  return () => registry.clusterMetrics();
}
