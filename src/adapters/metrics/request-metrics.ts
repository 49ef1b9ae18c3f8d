import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { exposeCounter } from './expose.ts';

/** `RequestRecord` of src/adapters/http says when a field is `undefined`. */
export type AnsweredRequest = {
  readonly method: string | undefined;
  /** A pattern out of a fixed set, never a path. */
  readonly route?: string | undefined;
  readonly status: number | undefined;
  readonly durationMs?: number | undefined;
  readonly keyId?: string | undefined;
};

export type MeasuredApi = {
  /** Whether calls are counted by key, because the operation is deprecated. */
  readonly isDeprecated: (method: string | undefined, route: string) => boolean;
  readonly statuses: readonly number[];
};

/** In seconds: from a list in memory to the limit of a write on SQLite. */
export const DURATION_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const NONE = 'none';

/** A label never has text that a client sent. */
export function requestMetrics(registry: Registry, { isDeprecated, statuses }: MeasuredApi) {
  const registers = [registry];
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'From the parsed headers of a request to the last byte of its answer.',
    labelNames: ['method', 'route', 'status_class'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const unparsedRequests = new Counter({
    name: 'http_unparsed_requests_total',
    help: 'Requests that the server refused before the application saw them, such as bytes that are not HTTP.',
    registers,
  });
  const requestsInFlight = new Gauge({
    name: 'http_requests_in_flight',
    help: 'Requests without a complete answer.',
    registers,
  });
  const countDeprecatedCall = exposeCounter<string>(registry, {
    name: 'petstore_deprecated_calls_total',
    help: 'Calls of a deprecated operation by the id of the API key.',
    label: 'key_id',
    values: [],
  });
  const countResponse = exposeCounter(registry, {
    name: 'http_responses_total',
    help: 'Answers by their status.',
    label: 'status',
    values: statuses,
  });
  return {
    /** Call `began` when the application receives a request. */
    began: () => requestsInFlight.inc(),
    /** Call `answered` once per request, even if `began` was not called for it. */
    answered({ method, route = NONE, status, durationMs, keyId }: AnsweredRequest): void {
      if (status !== undefined) countResponse(status);
      if (durationMs === undefined) return unparsedRequests.inc();
      requestsInFlight.dec();
      const labels = {
        method: method !== undefined && METHODS.has(method) ? method : 'OTHER',
        route,
        status_class: status === undefined ? NONE : `${Math.trunc(status / 100)}xx`,
      };
      durations.observe(labels, durationMs / 1_000);
      if (keyId !== undefined && isDeprecated(method, route)) countDeprecatedCall(keyId);
    },
  };
}
