import type { RequestListener } from 'node:http';
import type { Metrics } from '../../adapters/metrics/create-metrics.ts';
import { OPERATIONS } from '../../adapters/http/operations/operations.ts';
import { ERRORS } from '../../adapters/http/contract/errors.ts';
import type { RequestLog } from '../../adapters/http/contract/request-log.ts';
import type { Operation } from '../../adapters/http/operations/operation.ts';
import { readBuild } from '../config/build.ts';

/** OPTIONS answers 204. A redirect to the page answers 302. */
const STATUSES = [200, 201, 204, 302, ...Object.values(ERRORS).map(([status]) => status)];

/** A service without metrics does not load prom-client. */
export async function loadMetrics(): Promise<Metrics> {
  const { createMetrics } = await import('../../adapters/metrics/create-metrics.ts');
  return createMetrics({ isDeprecated, statuses: STATUSES }, readBuild());
}

function isDeprecated(method = '', route: string): boolean {
  const isCalled = (operation: Operation) => operation.route === route && operation.methods.includes(method);
  return OPERATIONS.some((operation) => operation.deprecation !== undefined && isCalled(operation));
}

export function measuredLog(log: RequestLog, { requests }: Metrics): RequestLog {
  return {
    ...log,
    answered(record, request) {
      log.answered(record, request);
      requests.answered(record);
    },
  };
}

export function measuredApp(handle: RequestListener, { requests }: Metrics): RequestListener {
  return (request, response) => {
    requests.began();
    handle(request, response);
  };
}
