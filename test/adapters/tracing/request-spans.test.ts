import { once } from 'node:events';
import { createServer, IncomingMessage, request as httpRequest, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { requestSpans } from '../../../src/adapters/tracing/request-spans.ts';
import { listenOnLoopback } from '../../support/on-loopback.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => context.disable());

/** The context of an earlier request. It may be active when the next request of the same connection begins. */
const EARLIER_CONTEXT = trace.setSpanContext(ROOT_CONTEXT, {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  traceFlags: 1,
});

const OUTCOME = { requestId: 'r1', route: undefined, status: 200, keyId: undefined };

type Input = {
  readonly method?: string;
  readonly path?: string;
  readonly base?: string;
  readonly outcome?: Partial<typeof OUTCOME> | object;
};

/** Sends a request for `path` to a server that is reached at the URL `base`. Returns the span of the request. */
async function spanOf({ method = 'GET', path = '/', base = 'http://petstore.example', outcome = {} }: Input) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const spans = requestSpans(provider.getTracer('test'));
  const handle = (request: IncomingMessage, response: { end: () => void }) => {
    spans.end(request, { ...OUTCOME, ...outcome });
    response.end();
  };
  const listener = spans.trace(handle, () => base);
  const server = createServer((...request) => context.with(EARLIER_CONTEXT, () => listener(...request)));
  const port = await listenOnLoopback(server);
  const [response] = await once(
    httpRequest({ host: '127.0.0.1', port, method, path, agent: false }).end(),
    'response',
  );
  response.resume();
  const [span, ...otherSpans] = exporter.getFinishedSpans();
  expect(otherSpans).toStrictEqual([]);
  expect(span?.parentSpanContext).toBeUndefined();
  return { name: span?.name, status: span?.status, attributes: span?.attributes };
}

/** The attributes of a span for `GET /` at the default base. */
const COMMON_ATTRIBUTES = {
  'http.request.method': 'GET',
  'network.protocol.version': '1.1',
  'url.path': '/',
  'url.scheme': 'http',
  'server.address': 'petstore.example',
  'server.port': 80,
  'http.response.header.x-request-id': ['r1'],
};

const WITHOUT_SERVER = { 'url.scheme': undefined, 'server.address': undefined, 'server.port': undefined };

it.each<[what: string, input: Input, expected: { name?: string; code?: number }, attributes: object]>([
  ['is no failure with status 499', { outcome: { status: 499 } }, {}, { 'http.response.status_code': 499 }],
  [
    'is a failure with status 500',
    { outcome: { status: 500 } },
    { code: 2 },
    { 'http.response.status_code': 500, 'error.type': '500' },
  ],
  [
    'has the route, and no status, if the request has no answer',
    { outcome: { status: undefined, route: '/v1/pets' } },
    { name: 'GET /v1/pets' },
    { 'http.route': '/v1/pets', 'http.response.status_code': undefined },
  ],
  [
    'has the default port if the base has no port',
    { base: 'https://petstore.example' },
    {},
    { 'url.scheme': 'https', 'server.port': 443 },
  ],
  [
    'has the port of the base',
    { base: 'http://[::1]:3000/api' },
    {},
    { 'server.address': '::1', 'server.port': 3000 },
  ],
  ['has no server if the base is no URL', { base: 'http://a b' }, {}, WITHOUT_SERVER],
  ['has the id of a verified key', { outcome: { keyId: 'tom' } }, {}, { 'petstore.key.id': 'tom' }],
])('the span of a request %s', async (_, input, { name = 'GET', code = 0 }, attributes) => {
  const expected = Object.entries({ ...COMMON_ATTRIBUTES, 'http.response.status_code': 200, ...attributes });
  expect(await spanOf(input)).toStrictEqual({
    name,
    status: { code },
    attributes: Object.fromEntries(expected.filter(([, value]) => value !== undefined)),
  });
});

it.each([
  ['/v1/pets?limit=1&key=secret', '/v1/pets'],
  ['/v1/pets#secret', '/v1/pets'],
  ['/v1/http://petstore.example/x', '/v1/http://petstore.example/x'],
  ['http://petstore.example/v1/pets?key=secret', '/v1/pets'],
  ['http://user:secret@petstore.example?key=secret', ''],
])('the span of a request for %s has the path "%s"', async (path, expected) => {
  const { attributes } = await spanOf({ path });
  expect(attributes).toMatchObject({ 'url.path': expected });
});

it.each(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY'])(
  'the span of a request with the method %s has this method as its name',
  async (method) => {
    expect(await spanOf({ method })).toMatchObject({
      name: method,
      attributes: { 'http.request.method': method },
    });
  },
);

it('the span of a request with an unknown method has the name HTTP and the method as an attribute', async () => {
  const { name, attributes } = await spanOf({ method: 'PROPFIND', outcome: { route: '/v1/pets' } });
  expect(name).toBe('HTTP /v1/pets');
  expect(attributes).toMatchObject({
    'http.request.method': '_OTHER',
    'http.request.method_original': 'PROPFIND',
  });
});

it('requestSpans ignores a request that has no span, and keeps no reference to a request whose span has ended', async () => {
  const spans = requestSpans(new TracerProvider().getTracer('test'));
  const listener = spans.trace(
    (request) => spans.end(request, OUTCOME),
    () => 'http://petstore.example',
  );
  const requests = Array.from({ length: 10 }, () => {
    const request = new IncomingMessage(new Socket());
    listener(request, new ServerResponse(request));
    return new WeakRef(request);
  });
  const isKept = () => {
    collectGarbage();
    return requests.some((request) => request.deref() !== undefined);
  };
  await expect.poll(isKept).toBe(false);
  expect(spans.contextOf(undefined)).toBe(ROOT_CONTEXT);
  expect(() => spans.end(undefined, OUTCOME)).not.toThrow();
  expect(() => spans.end(new IncomingMessage(new Socket()), OUTCOME)).not.toThrow();
});
