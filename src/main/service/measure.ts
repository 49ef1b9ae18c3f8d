import type { Metrics } from '../../adapters/metrics/create-metrics.ts';
import { DEPRECATED_ROUTE } from '../../adapters/http/wire/deprecation.ts';
import type { Around } from '../compose.ts';

/** Loads and creates the metrics of this process. A service without them does not load prom-client. */
export async function loadMetrics(): Promise<Metrics> {
  const { createMetrics } = await import('../../adapters/metrics/create-metrics.ts');
  return createMetrics(DEPRECATED_ROUTE);
}

/** What the metrics put around the parts of the service. */
export function measuring({ pets, keys, limiter, tokens, probe, requests }: Metrics): Around {
  return {
    pets,
    keys,
    limiter,
    tokens,
    probe,
    log: (log) => ({
      ...log,
      answered(request) {
        log.answered(request);
        requests.answered(request);
      },
    }),
    app: (handle) => (request, response) => {
      requests.began();
      handle(request, response);
    },
  };
}
