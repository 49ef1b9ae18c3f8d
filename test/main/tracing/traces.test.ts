import { writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { mintKey } from '../../../src/adapters/tokens/token.ts';
import { ask, connect, KEY } from '../../support/client.ts';
import { OtlpReceiver } from '../../support/otlp-receiver.ts';
import { type Program, runService, stop } from '../../support/process.ts';
import { testDirectory } from '../../support/test-directory.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
const SAMPLED = { traceparent: `00-${TRACE}-${CALLER}-01` };
const UNSAMPLED = { traceparent: `00-${TRACE}-${CALLER}-00` };

const ID = /^[0-9a-f]{16}$/;

const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const UNSET = { code: 0, message: undefined };

type Traced = { readonly receiver: OtlpReceiver; readonly service: Program; readonly url: string };

/** A service that sends its spans to a receiver, the last ones when it stops. */
async function traced(env: Record<string, string> = {}): Promise<Traced> {
  const receiver = await OtlpReceiver.start();
  const service = runService({
    API_KEYS: `tests=${KEY}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    ...env,
  });
  return { receiver, service, url: await service.url() };
}

/** Ends the service, which sends the spans that are left. */
async function stopped({ service }: Traced): Promise<void> {
  await stop(service);
  expect(service.stderr).toBe('');
}

/** The log lines about requests. */
function linesOf({ service }: Traced): Record<string, unknown>[] {
  return service.log.filter(({ msg }) => msg === 'request' || msg === 'audit' || msg === 'failure');
}

it('a counted request has a span, which is the parent of its use case, which is the parent of its call to the storage', async () => {
  const sampler = 'parentbased_always_off';
  const run = await traced({ METRICS_PORT: '0', TRUST_PROXY: 'true', OTEL_TRACES_SAMPLER: sampler });
  const { receiver, url } = run;
  const answer = await ask(`${url}/v1/pets?`, {
    body: '{"name":"Rex","categoryId":7}',
    headers: { ...SAMPLED, tracestate: 'a=1,b=2', 'x-request-id': 'r1', 'x-forwarded-proto': 'https' },
  });
  expect(answer.status).toBe(201);
  await stopped(run);

  const [insert, create, request] = receiver.spans;
  const resource = {
    'service.name': 'petstore',
    'service.version': '1.0.0',
    'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.name': 'opentelemetry',
    'telemetry.sdk.version': expect.any(String),
  };
  const common = {
    traceId: TRACE,
    spanId: expect.stringMatching(ID),
    traceState: 'a=1,b=2',
    status: UNSET,
    resource,
  };
  // test/adapters/tracing has every attribute.
  expect(receiver.spans).toMatchObject([
    { ...common, name: 'insert pets', kind: CLIENT, parentSpanId: create?.spanId },
    { ...common, name: 'CreatePet', kind: INTERNAL, parentSpanId: request?.spanId, attributes: {} },
    {
      ...common,
      name: 'POST /v1/pets',
      kind: SERVER,
      parentSpanId: CALLER,
      attributes: { 'http.response.header.x-request-id': ['r1'], 'petstore.key.id': 'tests' },
    },
  ]);
  expect(request?.attributes).toMatchObject({ 'url.scheme': 'https' });
  expect(new Set([insert?.spanId, create?.spanId, request?.spanId, CALLER])).toHaveProperty('size', 4);
  expect(receiver.exports[0]).toMatchObject({
    path: '/v1/traces',
    headers: { 'content-type': 'application/x-protobuf' },
  });
  const ids = { trace_id: TRACE, span_id: request?.spanId, trace_flags: '01' };
  expect(linesOf(run)).toMatchObject([
    { msg: 'audit', requestId: 'r1', ...ids },
    { msg: 'request', requestId: 'r1', ...ids },
  ]);
});

it('pipelined requests without a valid traceparent have separate traces, and a 5xx answer marks its span as an error', async () => {
  const run = await traced();
  const client = await connect(run.url);
  const get = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: petstore.example\r\nTraceparent: not a traceparent\r\n\r\n`;
  await client.send(get('/livez') + get('/livez') + 'not HTTP\r\n\r\n');
  for (const status of [200, 200, 400]) expect((await client.answer()).status).toBe(status);
  await ask(`${run.url}/livez`, { headers: UNSAMPLED });
  // The service has the beginning of the second request when it answers the first one.
  const draining = await connect(run.url);
  await draining.send(`${get('/livez')}GET /readyz HTTP/1.1\r\n`);
  expect(await draining.answer()).toMatchObject({ status: 200 });
  run.service.signal('SIGTERM');
  await run.service.logged('shutting down');
  await draining.send('Host: petstore.example\r\n\r\n');
  expect(await draining.answer()).toMatchObject({ status: 503 });
  await stopped(run);
  const attributes = { 'server.address': 'petstore.example', 'server.port': 80 };
  const live = { name: 'GET /livez', parentSpanId: undefined, status: UNSET, attributes };
  expect(run.receiver.spans).toMatchObject([
    live,
    live,
    live,
    {
      name: 'GET /readyz',
      status: { code: 2, message: undefined },
      attributes: { 'http.response.status_code': 503, 'error.type': '503' },
    },
  ]);
  const ids = run.receiver.spans.map(({ traceId }) => traceId);
  expect(new Set(ids)).toHaveProperty('size', 4);
  const lines = linesOf(run).map(({ status, trace_id, trace_flags }) => [status, trace_id, trace_flags]);
  // What is not HTTP is no request: its line names no trace.
  const expected = [
    [200, ids[0], '01'],
    [200, ids[1], '01'],
    [400, undefined, undefined],
    [200, TRACE, '00'],
    [200, ids[2], '01'],
    [503, ids[3], '01'],
  ];
  expect(new Set(lines)).toStrictEqual(new Set(expected));
});

it("a client's mistake does not mark its span as an error, and no span contains a query, key or body", async () => {
  const run = await traced();
  const { url, receiver } = run;
  const { token } = mintKey();
  await ask(`${url}/v1/pets/7`);
  await ask(`${url}/v1/pets?secret=query`);
  await ask(`${url}/v1/pets`, { body: '{"name":"secret body","categoryId":"7"}' });
  await ask(`${url}/v1/pets`, { key: token });
  await stopped(run);
  const requests = receiver.spans.filter(({ kind }) => kind === SERVER);
  const seen = requests.map(({ name, attributes }) => [name, attributes['http.response.status_code']]);
  expect(seen).toStrictEqual([
    ['GET /v1/pets/:petId', 404],
    ['GET /v1/pets', 400],
    ['POST /v1/pets', 400],
    ['GET', 401],
  ]);
  expect(receiver.spans.map(({ status }) => status)).toStrictEqual(receiver.spans.map(() => UNSET));
  const first = receiver.spans.filter(({ traceId }) => traceId === requests[0]?.traceId);
  expect(first.map(({ name }) => name)).toStrictEqual(['findById pets', 'GetPet', 'GET /v1/pets/:petId']);
  const lookup = receiver.spans.find(({ name }) => name === 'findById api_keys');
  expect(lookup).toMatchObject({ parentSpanId: requests[3]?.spanId });
  expect(JSON.stringify(receiver.spans)).not.toMatch(new RegExp(`secret|${KEY}|${token}`));
});

it('requests at the same time have separate trees of spans, even if one operation of the storage serves them all', async () => {
  const directory = await testDirectory();
  const sampler = { OTEL_TRACES_SAMPLER: 'always_on' };
  const run = await traced({ DATABASE_URL: `sqlite:${directory}/pets.db`, ...sampler });
  const clients = 20;
  const body = '{"name":"Rex","categoryId":7}';
  await Promise.all(Array.from({ length: clients }, () => ask(`${run.url}/v1/pets`, { body })));
  await ask(`${run.url}/livez`, { headers: UNSAMPLED });
  await stopped(run);
  const { spans } = run.receiver;
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
  expect(spans.at(-1)).toMatchObject({ name: 'GET /livez', traceId: TRACE, parentSpanId: CALLER });
});

it.each([
  { OTEL_TRACES_SAMPLER: 'always_off' },
  { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
])('the sampler %j sends no span of a sampled trace, and the log has its ids', async (env) => {
  const run = await traced(env);
  await ask(`${run.url}/livez`, { headers: SAMPLED });
  await stopped(run);
  expect(run.receiver.spans).toStrictEqual([]);
  expect(linesOf(run)).toMatchObject([
    { trace_id: TRACE, span_id: expect.stringMatching(ID), trace_flags: '00' },
  ]);
});

it('the tracing variables can come from the file of --env', async () => {
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
