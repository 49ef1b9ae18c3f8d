import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { type AnsweredRequest, requestMetrics } from '../../../src/adapters/metrics/request-metrics.ts';
import { nonZero, seriesOf } from '../../support/metrics.ts';

const LIST_REQUEST: AnsweredRequest = {
  method: 'GET',
  route: '/v1/pets',
  status: 200,
  durationMs: 2,
  keyId: 'tom',
};

function createRequestMetrics() {
  const registry = new Registry();
  // In this API, each operation of the route of one pet is deprecated, except PATCH.
  const requests = requestMetrics(registry, {
    isDeprecated: (method, route) => method !== 'PATCH' && route === '/v1/pets/:petId',
    statuses: [200, 404],
  });
  /** Begins and answers a request, which differs from `LIST_REQUEST` only in these fields. */
  const answer = (request: Partial<AnsweredRequest>) => {
    requests.began();
    requests.answered({ ...LIST_REQUEST, ...request });
  };
  return { requests, answer, series: async () => seriesOf(await registry.metrics()) };
}

it('requests are counted by method, route and class of the status', async () => {
  const { answer, series } = createRequestMetrics();
  answer({});
  answer({ status: 201 });
  answer({ method: 'POST', status: 201 });
  answer({ status: 404, route: '/v1/pets/:petId' });
  answer({ status: 503, route: undefined });
  answer({ status: undefined });
  expect(nonZero(await series(), 'http_request_duration_seconds_count')).toStrictEqual({
    'http_request_duration_seconds_count{method="GET",route="/v1/pets",status_class="2xx"}': 2,
    'http_request_duration_seconds_count{method="POST",route="/v1/pets",status_class="2xx"}': 1,
    'http_request_duration_seconds_count{method="GET",route="/v1/pets/:petId",status_class="4xx"}': 1,
    'http_request_duration_seconds_count{method="GET",route="none",status_class="5xx"}': 1,
    'http_request_duration_seconds_count{method="GET",route="/v1/pets",status_class="none"}': 1,
  });
});

it('the durations of requests are exposed in seconds', async () => {
  const { answer, series } = createRequestMetrics();
  for (const durationMs of [2, 250, 12_000]) answer({ durationMs });
  const labels = 'method="GET",route="/v1/pets",status_class="2xx"';
  const values = await series();
  const countUpTo = (le: string) => values.get(`http_request_duration_seconds_bucket{le="${le}",${labels}}`);
  expect(['0.001', '0.0025', '0.1', '0.25', '10', '+Inf'].map(countUpTo)).toStrictEqual([0, 1, 1, 2, 2, 3]);
  expect(values.get(`http_request_duration_seconds_sum{${labels}}`)).toBeCloseTo(12.252);
});

it('a request is in flight until it is answered', async () => {
  const { requests, series } = createRequestMetrics();
  const inFlight = async () => (await series()).get('http_requests_in_flight');
  requests.began();
  requests.began();
  expect(await inFlight()).toBe(2);
  requests.answered({ ...LIST_REQUEST, status: undefined });
  expect(await inFlight()).toBe(1);
  requests.answered(LIST_REQUEST);
  expect(await inFlight()).toBe(0);
});

it('answers are counted by status, and requests that the server cannot parse have a second counter', async () => {
  const { requests, answer, series } = createRequestMetrics();
  const expectedCounts = (ok: number, notFound: number) => ({
    'http_responses_total{status="200"}': ok,
    'http_responses_total{status="404"}': notFound,
  });
  const responseCounts = async () =>
    Object.fromEntries((await series()).entries().filter(([name]) => name.startsWith('http_responses')));
  expect(await responseCounts()).toStrictEqual(expectedCounts(0, 0));
  for (const request of [{}, {}, { status: undefined }]) answer(request);
  const unparsedRequest = { method: undefined, route: undefined, status: 404, durationMs: undefined };
  for (let n = 0; n < 3; n++) requests.answered({ ...LIST_REQUEST, ...unparsedRequest });
  expect(await responseCounts()).toStrictEqual(expectedCounts(2, 3));
  const values = await series();
  expect(values.get('http_unparsed_requests_total')).toBe(3);
  expect(values.get('http_requests_in_flight')).toBe(0);
  const durationCounts = Object.values(nonZero(values, 'http_request_duration_seconds_count'));
  // Two requests have the status 200, and one request has no status. The unparsed requests have no duration.
  expect(durationCounts).toStrictEqual([2, 1]);
});

it('each common method is a label of the durations, and all other methods have the label OTHER', async () => {
  const { answer, series } = createRequestMetrics();
  const commonMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
  for (const method of commonMethods) answer({ method });
  for (let n = 0; n < 10_000; n++) answer({ method: `M${n}` });
  answer({ method: undefined });
  const counts = Object.entries(nonZero(await series(), 'http_request_duration_seconds_count'));
  expect(counts.map(([name, count]) => [/method="(\w+)"/.exec(name)?.[1], count])).toStrictEqual([
    ...commonMethods.map((method) => [method, 1]),
    ['OTHER', 10_001],
  ]);
});

it('calls of a deprecated operation are counted per API key, even if the operation fails', async () => {
  const { answer, series } = createRequestMetrics();
  answer({});
  answer({ route: '/v1/pets/:petId' });
  answer({ method: 'HEAD', route: '/v1/pets/:petId', status: 404 });
  answer({ route: '/v1/pets/:petId', keyId: 'ann' });
  answer({ route: '/v1/pets/:petId', keyId: undefined });
  answer({ method: 'PATCH', route: '/v1/pets/:petId' });
  expect(nonZero(await series(), 'petstore_deprecated_calls_total')).toStrictEqual({
    'petstore_deprecated_calls_total{key_id="tom"}': 2,
    'petstore_deprecated_calls_total{key_id="ann"}': 1,
  });
});
