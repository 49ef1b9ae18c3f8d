import { writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { mintKey } from '../../../src/adapters/tokens/token.ts';
import { ask, connect, KEY } from '../../support/client.ts';
import { OtlpReceiver } from '../../support/otlp-receiver.ts';
import { type Program, runService, stop } from '../../support/process.ts';
import { testDirectory } from '../../support/test-directory.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CALLER_SPAN = 'b7ad6b7169203331';
const SAMPLED_HEADERS = { traceparent: `00-${TRACE_ID}-${CALLER_SPAN}-01` };
const UNSAMPLED_HEADERS = { traceparent: `00-${TRACE_ID}-${CALLER_SPAN}-00` };

const SPAN_ID_FORM = /^[0-9a-f]{16}$/;

// The kinds of spans in the protocol OTLP.
const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const UNSET_STATUS = { code: 0, message: undefined };

type TracedService = { readonly receiver: OtlpReceiver; readonly service: Program; readonly url: string };

/** Starts a service that sends its spans to a receiver. The service sends its last spans when it stops. */
async function startTraced(env: Record<string, string> = {}): Promise<TracedService> {
  const receiver = await OtlpReceiver.start();
  const service = runService({ API_KEYS: `tests=${KEY}`, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...env });
  return { receiver, service, url: await service.url() };
}

/** Stops the service, which then sends its last spans. */
async function stopTraced({ service }: TracedService): Promise<void> {
  await stop(service);
  expect(service.stderr).toBe('');
}

/** Returns the log lines about requests. */
function linesOf({ service }: TracedService): Record<string, unknown>[] {
  return service.log.filter(({ msg }) => msg === 'request' || msg === 'audit' || msg === 'failure');
}

it('a create has three nested spans: for the request, for the use case and for the call to the storage', async () => {
  const sampler = 'parentbased_always_off';
  const traced = await startTraced({ METRICS_PORT: '0', TRUST_PROXY: 'true', OTEL_TRACES_SAMPLER: sampler });
  const { receiver, url } = traced;
  const answer = await ask(`${url}/v1/pets?`, {
    body: '{"name":"Rex","categoryId":7}',
    headers: {
      ...SAMPLED_HEADERS,
      tracestate: 'a=1,b=2',
      'x-request-id': 'r1',
      'x-forwarded-proto': 'https',
    },
  });
  expect(answer.status).toBe(201);
  await stopTraced(traced);

  const [insert, create, request] = receiver.spans;
  const resource = {
    'service.name': 'petstore',
    'service.version': '1.0.0',
    'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.name': 'opentelemetry',
    'telemetry.sdk.version': expect.any(String),
  };
  const commonFields = {
    traceId: TRACE_ID,
    spanId: expect.stringMatching(SPAN_ID_FORM),
    traceState: 'a=1,b=2',
    status: UNSET_STATUS,
    resource,
  };
  // The tests in test/adapters/tracing compare every attribute.
  expect(receiver.spans).toMatchObject([
    { ...commonFields, name: 'insert pets', kind: CLIENT, parentSpanId: create?.spanId },
    { ...commonFields, name: 'CreatePet', kind: INTERNAL, parentSpanId: request?.spanId, attributes: {} },
    {
      ...commonFields,
      name: 'POST /v1/pets',
      kind: SERVER,
      parentSpanId: CALLER_SPAN,
      attributes: { 'http.response.header.x-request-id': ['r1'], 'petstore.key.id': 'tests' },
    },
  ]);
  expect(request?.attributes).toMatchObject({ 'url.scheme': 'https' });
  expect(new Set([insert?.spanId, create?.spanId, request?.spanId, CALLER_SPAN])).toHaveProperty('size', 4);
  expect(receiver.exports[0]).toMatchObject({
    path: '/v1/traces',
    headers: { 'content-type': 'application/x-protobuf' },
  });
  const traceIds = { trace_id: TRACE_ID, span_id: request?.spanId, trace_flags: '01' };
  expect(linesOf(traced)).toMatchObject([
    { msg: 'audit', requestId: 'r1', ...traceIds },
    { msg: 'request', requestId: 'r1', ...traceIds },
  ]);
});

it('pipelined requests without a valid traceparent have separate traces, and a 5xx answer marks its span as an error', async () => {
  const traced = await startTraced();
  const client = await connect(traced.url);
  const get = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: petstore.example\r\nTraceparent: not a traceparent\r\n\r\n`;
  await client.send(get('/livez') + get('/livez') + 'not HTTP\r\n\r\n');
  for (const status of [200, 200, 400]) expect((await client.answer()).status).toBe(status);
  await ask(`${traced.url}/livez`, { headers: UNSAMPLED_HEADERS });
  // The answer to the first request shows that the service has received the beginning of the second request.
  const lateClient = await connect(traced.url);
  await lateClient.send(`${get('/livez')}GET /readyz HTTP/1.1\r\n`);
  expect(await lateClient.answer()).toMatchObject({ status: 200 });
  traced.service.signal('SIGTERM');
  await traced.service.logged('shutting down');
  await lateClient.send('Host: petstore.example\r\n\r\n');
  expect(await lateClient.answer()).toMatchObject({ status: 503 });
  await stopTraced(traced);
  const attributes = { 'server.address': 'petstore.example', 'server.port': 80 };
  const livezSpan = { name: 'GET /livez', parentSpanId: undefined, status: UNSET_STATUS, attributes };
  expect(traced.receiver.spans).toMatchObject([
    livezSpan,
    livezSpan,
    livezSpan,
    {
      name: 'GET /readyz',
      status: { code: 2, message: undefined },
      attributes: { 'http.response.status_code': 503, 'error.type': '503' },
    },
  ]);
  const traceIds = traced.receiver.spans.map(({ traceId }) => traceId);
  expect(new Set(traceIds)).toHaveProperty('size', 4);
  const lines = linesOf(traced).map(({ status, trace_id, trace_flags }) => [status, trace_id, trace_flags]);
  // Bytes that are not HTTP have no span, so their log line names no trace.
  const expected = [
    [200, traceIds[0], '01'],
    [200, traceIds[1], '01'],
    [400, undefined, undefined],
    [200, TRACE_ID, '00'],
    [200, traceIds[2], '01'],
    [503, traceIds[3], '01'],
  ];
  expect(new Set(lines)).toStrictEqual(new Set(expected));
});

it('a 4xx answer does not mark its span as an error, and no span contains a query, an API key or a body', async () => {
  const traced = await startTraced();
  const { url, receiver } = traced;
  const { token } = mintKey();
  await ask(`${url}/v1/pets/7`);
  await ask(`${url}/v1/pets?secret=query`);
  await ask(`${url}/v1/pets`, { body: '{"name":"secret body","categoryId":"7"}' });
  await ask(`${url}/v1/pets`, { key: token });
  await stopTraced(traced);
  const requests = receiver.spans.filter(({ kind }) => kind === SERVER);
  const answers = requests.map(({ name, attributes }) => [name, attributes['http.response.status_code']]);
  expect(answers).toStrictEqual([
    ['GET /v1/pets/:petId', 404],
    ['GET /v1/pets', 400],
    ['POST /v1/pets', 400],
    ['GET', 401],
  ]);
  expect(receiver.spans.map(({ status }) => status)).toStrictEqual(receiver.spans.map(() => UNSET_STATUS));
  const spans = receiver.spans.filter(({ traceId }) => traceId === requests[0]?.traceId);
  const names = ['findById pets', 'GetPet', 'GET /v1/pets/:petId'];
  expect(spans.map(({ name }) => name)).toStrictEqual(names);
  const keySpan = receiver.spans.find(({ name }) => name === 'findById api_keys');
  expect(keySpan).toMatchObject({ parentSpanId: requests[3]?.spanId });
  expect(JSON.stringify(receiver.spans)).not.toMatch(new RegExp(`secret|${KEY}|${token}`));
});

it('concurrent requests have separate trees of spans, even if the storage commits their pets together', async () => {
  const directory = await testDirectory();
  const sampler = { OTEL_TRACES_SAMPLER: 'always_on' };
  const traced = await startTraced({ DATABASE_URL: `sqlite:${directory}/pets.db`, ...sampler });
  const clients = 20;
  const body = '{"name":"Rex","categoryId":7}';
  await Promise.all(Array.from({ length: clients }, () => ask(`${traced.url}/v1/pets`, { body })));
  await ask(`${traced.url}/livez`, { headers: UNSAMPLED_HEADERS });
  await stopTraced(traced);
  const { spans } = traced.receiver;
  const requests = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
  expect(requests).toHaveLength(clients);
  for (const { traceId, spanId, name } of requests) {
    const [insert, create] = spans.filter((span) => span.traceId === traceId);
    expect(name).toBe('POST /v1/pets');
    expect(create).toMatchObject({ name: 'CreatePet', parentSpanId: spanId });
    expect(insert).toMatchObject({
      name: 'insert pets',
      parentSpanId: create?.spanId,
      attributes: { 'db.system.name': 'sqlite' },
    });
  }
  expect(spans.at(-1)).toMatchObject({ name: 'GET /livez', traceId: TRACE_ID, parentSpanId: CALLER_SPAN });
});

it.each([
  { OTEL_TRACES_SAMPLER: 'always_off' },
  { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
])('the service sends no span when %j, and its log line has the trace id', async (env) => {
  const traced = await startTraced(env);
  await ask(`${traced.url}/livez`, { headers: SAMPLED_HEADERS });
  await stopTraced(traced);
  expect(traced.receiver.spans).toStrictEqual([]);
  expect(linesOf(traced)).toMatchObject([
    { trace_id: TRACE_ID, span_id: expect.stringMatching(SPAN_ID_FORM), trace_flags: '00' },
  ]);
});

it('the tracing variables can be set in the file of --env', async () => {
  const receiver = await OtlpReceiver.start();
  const file = `${await testDirectory()}/.env`;
  await writeFile(
    file,
    `OTEL_EXPORTER_OTLP_ENDPOINT=${receiver.url}
    OTEL_SERVICE_NAME=shop
    OTEL_RESOURCE_ATTRIBUTES=service.name=other,service.version=7,deployment.environment.name=test
    OTEL_EXPORTER_OTLP_HEADERS=x-api-key=of-the-receiver
    OTEL_EXPORTER_OTLP_COMPRESSION=none
    PUBLIC_URL=https://petstore.example/api`,
  );
  const service = runService({ API_KEYS: KEY }, ['serve', '--env', file]);
  await ask(`${await service.url()}/nowhere/${'x'.repeat(2_000)}`);
  await stop(service);
  const span = await receiver.span('GET');
  expect(span).toMatchObject({
    parentSpanId: undefined,
    resource: { 'service.name': 'shop', 'service.version': '7', 'deployment.environment.name': 'test' },
    attributes: {
      'url.path': `/nowhere/${'x'.repeat(1_024 - '/nowhere/'.length)}`,
      'url.scheme': 'https',
      'server.address': 'petstore.example',
      'server.port': 443,
    },
  });
  expect(receiver.exports[0]?.headers).toMatchObject({ 'x-api-key': 'of-the-receiver' });
});
