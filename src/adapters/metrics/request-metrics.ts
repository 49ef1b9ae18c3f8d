import type { Registry } from 'prom-client';
import { exposeCounts, exposeFigure } from './expose.ts';
import { Histogram, type Series } from './histogram.ts';

/** The part of a request's record that is measured. */
export type AnsweredRequest = {
  /** `undefined` when the bytes were not HTTP. */
  readonly method: string | undefined;
  /** A pattern out of a fixed set, never a path. `undefined` when no route matched. */
  readonly route: string | undefined;
  /** `undefined` when there was no answer. */
  readonly status: number | undefined;
  /** `undefined` when the application did not see the request. */
  readonly durationMs: number | undefined;
  /** The public id of a verified API key. */
  readonly keyId: string | undefined;
};

/** In seconds: from a list in memory to the longest that a storage may take. */
export const DURATION_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** How many keys have a series of their own. The calls of any further keys are counted together. */
const MAX_KEYS = 100;

const OTHER = 'OTHER';
const NONE = 'none';

/** Counts requests and takes their time. What clients send never becomes a label. */
export class RequestMetrics {
  readonly #durations: Histogram;
  readonly #deprecatedRoute: string;
  /** By route, method and class of the status. A lookup costs less than making a key of the three. */
  readonly #series = new Map<string, Map<string, Series[]>>();
  readonly #deprecatedCalls = new Map<string, number>();
  #inFlight = 0;
  #unparsed = 0;

  /** @param deprecatedRoute the pattern of the route whose calls are counted by key */
  constructor(registry: Registry, deprecatedRoute: string) {
    this.#deprecatedRoute = deprecatedRoute;
    this.#durations = new Histogram(
      registry,
      'http_request_duration_seconds',
      'From the parsed headers of a request to the last byte of its answer.',
      DURATION_BUCKETS,
    );
    exposeFigure(
      registry,
      { name: 'http_requests_in_flight', help: 'Requests without a complete answer.' },
      () => this.#inFlight,
    );
    exposeCounts(
      registry,
      {
        name: 'http_unparsed_requests_total',
        help: 'Requests that the server refused before the application saw them, such as bytes that are not HTTP.',
      },
      () => [[{}, this.#unparsed]],
    );
    exposeCounts(
      registry,
      {
        name: 'petstore_deprecated_calls_total',
        help: 'Calls of a deprecated operation by the id of the API key.',
        labelNames: ['key_id'],
      },
      () => this.#deprecatedCalls.entries().map(([id, count]) => [{ key_id: id }, count] as const),
    );
  }

  /** Call it when the application gets a request. */
  began(): void {
    this.#inFlight++;
  }

  /** Call it once for each request: after {@link began}, or with a request that the application did not see. */
  answered({ method, route, status, durationMs, keyId }: AnsweredRequest): void {
    if (durationMs === undefined) {
      this.#unparsed++;
      return;
    }
    this.#inFlight--;
    this.#seriesOf(route, method, status).observe(durationMs / 1_000);
    if (route === this.#deprecatedRoute && keyId !== undefined) this.#countDeprecated(keyId);
  }

  #seriesOf(route = NONE, method = OTHER, status = 0): Series {
    const name = METHODS.has(method) ? method : OTHER;
    const statusClass = Math.trunc(status / 100);
    const ofRoute = this.#series.get(route);
    const ofMethod = ofRoute?.get(name);
    return ofMethod?.[statusClass] ?? this.#addSeries(route, name, statusClass);
  }

  #addSeries(route: string, method: string, statusClass: number): Series {
    const status_class = statusClass === 0 ? NONE : `${statusClass}xx`;
    const series = this.#durations.with({ method, route, status_class });
    const ofRoute = this.#series.get(route) ?? new Map<string, Series[]>();
    const ofMethod = ofRoute.get(method) ?? [];
    this.#series.set(route, ofRoute.set(method, ofMethod));
    ofMethod[statusClass] = series;
    return series;
  }

  #countDeprecated(keyId: string): void {
    const calls = this.#deprecatedCalls;
    const name = calls.has(keyId) || calls.size < MAX_KEYS ? keyId : OTHER;
    calls.set(name, (calls.get(name) ?? 0) + 1);
  }
}
