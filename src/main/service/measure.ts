import type { Metrics } from '../../adapters/metrics/create-metrics.ts';
import { getPet } from '../../adapters/http/operations/get-pet.ts';
import { ERROR_STATUS } from '../../adapters/http/contract/errors.ts';
import { readBuild } from '../config/build.ts';
import type { Decorators } from '../program/compose.ts';

/** Every status of an answer. 204 is for OPTIONS, 302 leads a person to the page. */
const STATUSES = [200, 201, 204, 302, ...Object.values(ERROR_STATUS)];

/** Loads and creates the metrics of this process. A service without them does not load prom-client. */
export async function loadMetrics(): Promise<Metrics> {
  const { createMetrics } = await import('../../adapters/metrics/create-metrics.ts');
  return createMetrics({ deprecatedRoute: getPet.route, statuses: STATUSES }, readBuild());
}

/** What the metrics put around the parts of the service. */
export function measuring({ pets, keys, limiter, tokens, probe, requests }: Metrics): Decorators {
  return {
    pets,
    keys,
    limiter,
    tokens,
    probe,
    log: (log) => ({
      ...log,
      answered(record, request) {
        log.answered(record, request);
        requests.answered(record);
      },
    }),
    app: (handle) => (request, response) => {
      requests.began();
      handle(request, response);
    },
  };
}
