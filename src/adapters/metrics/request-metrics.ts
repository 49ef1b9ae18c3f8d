import { Counter, type Registry } from 'prom-client';
import { exposeCounts, exposeFigure } from './expose.ts';
import { exposeHistogram } from './histogram.ts';

/** The part of a request's record that is measured. */
export type AnsweredRequest = {
  /** `undefined` when the bytes were not HTTP. */
  readonly method: string | undefined;
  /** A pattern out of a fixed set, never a path. `undefined` when no route matched. */
  readonly route?: string | undefined;
  /** `undefined` when there was no answer. */
  readonly status: number | undefined;
  /** `undefined` when the application did not see the request. */
  readonly durationMs?: number | undefined;
  /** The public id of a verified API key. */
  readonly keyId?: string | undefined;
};

/** What the labels of requests are made of. */
export type MeasuredApi = {
  /** The pattern of the route whose calls are counted by key. */
  readonly deprecatedRoute: string;
  /** Every status that the server can send. */
  readonly statuses: readonly number[];
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
  readonly #durations: ReturnType<typeof exposeHistogram>;
  readonly #deprecatedRoute: string;
  /** By the labels. */
  readonly #observers = new Map<string, (value: number) => void>();
  readonly #unparsed: Counter;
  readonly #deprecatedCalls = new Map<string, number>();
  /** By the status. */
  readonly #answers: Map<string, number>;
  #inFlight = 0;

  constructor(registry: Registry, { deprecatedRoute, statuses }: MeasuredApi) {
    this.#deprecatedRoute = deprecatedRoute;
    this.#answers = new Map([...statuses.map(String), OTHER].map((status) => [status, 0]));
    this.#durations = exposeHistogram(
      registry,
      'http_request_duration_seconds',
      'From the parsed headers of a request to the last byte of its answer.',
      DURATION_BUCKETS,
    );
    this.#unparsed = new Counter({
      name: 'http_unparsed_requests_total',
      help: 'Requests that the server refused before the application saw them, such as bytes that are not HTTP.',
      registers: [registry],
    });
    exposeFigure(registry, {
      name: 'http_requests_in_flight',
      help: 'Requests without a complete answer.',
      read: () => this.#inFlight,
    });
    exposeCounts(registry, {
      name: 'petstore_deprecated_calls_total',
      help: 'Calls of a deprecated operation by the id of the API key.',
      label: 'key_id',
      read: () => this.#deprecatedCalls,
    });
    exposeCounts(registry, {
      name: 'http_responses_total',
      help: 'Answers by their status.',
      label: 'status',
      read: () => this.#answers,
    });
  }

  /** Call it when the application gets a request. */
  began(): void {
    this.#inFlight++;
  }

  /** Call it once for each request: after {@link began}, or with a request that the application did not see. */
  answered({ method, route, status, durationMs, keyId }: AnsweredRequest): void {
    if (status !== undefined) this.#countAnswer(String(status));
    if (durationMs === undefined) return this.#unparsed.inc();
    this.#inFlight--;
    const name = method !== undefined && METHODS.has(method) ? method : OTHER;
    const statusClass = status === undefined ? NONE : `${Math.trunc(status / 100)}xx`;
    this.#observerOf(name, route ?? NONE, statusClass)(durationMs / 1_000);
    if (route === this.#deprecatedRoute && keyId !== undefined) this.#countDeprecated(keyId);
  }

  #observerOf(method: string, route: string, status_class: string) {
    return this.#observers.getOrInsertComputed(`${method} ${status_class} ${route}`, () =>
      this.#durations({ method, route, status_class }),
    );
  }

  #countAnswer(status: string): void {
    const name = this.#answers.has(status) ? status : OTHER;
    this.#answers.set(name, this.#answers.get(name)! + 1);
  }

  #countDeprecated(keyId: string): void {
    const calls = this.#deprecatedCalls;
    const name = calls.has(keyId) || calls.size < MAX_KEYS ? keyId : OTHER;
    calls.set(name, (calls.get(name) ?? 0) + 1);
  }
}
