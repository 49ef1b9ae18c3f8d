import type { RequestListener } from 'node:http';
import type { Metrics } from '../../adapters/metrics/create-metrics.ts';
import { OPERATIONS } from '../../adapters/http/operations/operations.ts';
import { ERRORS } from '../../adapters/http/contract/errors.ts';
import type { RequestLog } from '../../adapters/http/contract/request-log.ts';
import type { Operation } from '../../adapters/http/operations/operation.ts';
import { readBuild } from '../config/build.ts';

/** Every status of an answer. 204 is for OPTIONS, 302 leads a person to the page. */
const STATUSES = [200, 201, 204, 302, ...Object.values(ERRORS).map(([status]) => status)];

/** Loads and creates the metrics of this process. A service without them does not load prom-client. */
export async function loadMetrics(): Promise<Metrics> {
  const { createMetrics } = await import('../../adapters/metrics/create-metrics.ts');
  return createMetrics({ isDeprecated, statuses: STATUSES }, readBuild());
}

function isDeprecated(method = '', route: string): boolean {
  const isCalled = (one: Operation) => one.route === route && one.methods.includes(method);
  return OPERATIONS.some((one) => one.deprecation !== undefined && isCalled(one));
}

/** Counts the answers that the log is told about. */
export function measuredLog(log: RequestLog, { requests }: Metrics): RequestLog {
  return {
    ...log,
    answered(record, request) {
      log.answered(record, request);
      requests.answered(record);
    },
  };
}

/** Counts the requests that begin. */
export function measuredApp(handle: RequestListener, { requests }: Metrics): RequestListener {
  return (request, response) => {
    requests.began();
    handle(request, response);
  };
}
