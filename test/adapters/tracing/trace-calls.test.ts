import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { traceStorage, useCaseTracer } from '../../../src/adapters/tracing/trace-calls.ts';
import { IdempotencyKeyReused } from '../../../src/application/pets/errors.ts';
import { GetPet } from '../../../src/application/pets/get-pet.ts';
import type { ServicePorts } from '../../../src/application/ports/storage-kind.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { aKey } from '../../support/api-keys.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import { aStorage } from '../../support/metrics.ts';
import { aPet } from '../../support/pets.ts';

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({
  sampler: new AlwaysOnSampler(),
  spanProcessors: [new SimpleSpanProcessor({ exporter })],
});
const tracer = provider.getTracer('test');

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => context.disable());
beforeEach(() => exporter.reset());

const AT = new Date('2026-12-24T12:00:00Z');
const API_KEY = aKey();

/** The result of the work, or the error that the work rejects with. */
function outcomeOf(work: () => Promise<unknown>): Promise<unknown> {
  return work().catch((error: unknown) => error);
}

/** Does the work inside the span of a request. Returns the spans of the work, and not the span of the request. */
async function spansOf(work: () => Promise<unknown>) {
  await tracer.startActiveSpan('request', async (span) => {
    await outcomeOf(work);
    span.end();
  });
  const spans = exporter.getFinishedSpans();
  const requestSpanId = spans.at(-1)?.spanContext().spanId;
  return spans.slice(0, -1).map(({ name, kind, attributes, status, parentSpanContext }) => {
    return { name, kind, attributes, status, isBelowRequest: parentSpanContext?.spanId === requestSpanId };
  });
}

// One call per port is enough, because `around` treats all methods of a port in the same way. The compiler reports a
// method that has no operation.
const CALLS: [
  name: string,
  collection: string | undefined,
  call: (storage: ServicePorts) => Promise<unknown>,
][] = [
  ['insertOnce', 'pets', ({ pets }) => pets.insertOnce(aPet(), idempotencyFor('a'))],
  ['expire', 'api_keys', ({ keys }) => keys.expire(API_KEY.id, AT)],
  ['check', undefined, ({ probe }) => probe.check()],
  ['take', 'rate_limits', async ({ limiter }) => limiter?.take('till', { requests: 1, seconds: 10 })],
];

it('a call to a traced storage has one span, and the same result as a call to the storage without traces', async () => {
  const [plain, traced] = [await aStorage(), traceStorage(await aStorage(), tracer, 'sqlite')];
  for (const [operation, collection, call] of CALLS) {
    exporter.reset();
    const expected = await outcomeOf(() => call(plain));
    const name = collection === undefined ? operation : `${operation} ${collection}`;
    let result: unknown;
    const spans = await spansOf(async () => {
      result = await outcomeOf(() => call(traced));
    });
    expect(result, name).toStrictEqual(expected);
    expect(spans, name).toStrictEqual([
      {
        name,
        kind: 2,
        attributes: {
          'db.system.name': 'sqlite',
          'db.operation.name': operation,
          ...(collection !== undefined && { 'db.collection.name': collection }),
        },
        status: { code: 0 },
        isBelowRequest: true,
      },
    ]);
  }
});

it.each([
  ['outside of a request', ROOT_CONTEXT],
  [
    'in a request that is not sampled',
    trace.setSpanContext(ROOT_CONTEXT, {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      traceFlags: 0,
    }),
  ],
])('a call to the storage %s has no span', async (_, activeContext) => {
  const { pets } = traceStorage(await aStorage(), tracer, 'sqlite');
  expect(await context.with(activeContext, () => pets.list({ limit: 1 }))).toStrictEqual([]);
  expect(exporter.getFinishedSpans()).toStrictEqual([]);
});

it('a traced storage has no limiter if the storage has none', async () => {
  const { limiter: _, ...withoutLimiter } = await aStorage();
  const storage = traceStorage(withoutLimiter, tracer, 'sqlite');
  expect(storage).not.toHaveProperty('limiter');
});

const NO_FAILURE = { status: { code: 0 }, errorType: undefined };

/** Calls the use case `GetPet` on the storage. Returns the spans of both, and the error of the use case. */
async function failGetPet(storage: ServicePorts) {
  const { pets } = traceStorage(storage, tracer, 'sqlite');
  const getPet = useCaseTracer(tracer)('GetPet', new GetPet(pets));
  const spans = await spansOf(() => getPet.execute(7n));
  return {
    spans: spans.map(({ name, status, attributes }) => ({
      name,
      status,
      errorType: attributes['error.type'],
    })),
    error: await outcomeOf(() => getPet.execute(7n)),
  };
}

it.each<[string, unknown, object]>([
  [
    'an outage, which the spans report',
    new StorageUnavailable('no primary'),
    { status: { code: 2, message: 'no primary' }, errorType: 'storage-unavailable' },
  ],
  ['a bug', new TypeError('boom'), { status: { code: 2, message: 'boom' }, errorType: 'TypeError' }],
  ['a thrown string', 'boom', { status: { code: 2, message: 'boom' }, errorType: '_OTHER' }],
  ['the mistake of a client, which no span reports', new IdempotencyKeyReused(), NO_FAILURE],
])('a traced call rejects with the error of the storage if it is %s', async (_, error, expected) => {
  const storage = await aStorage();
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors
  storage.pets.findById = () => Promise.reject(error);
  const failed = await failGetPet(storage);
  expect(failed.spans).toStrictEqual([
    { name: 'findById pets', ...expected },
    { name: 'GetPet', ...expected },
  ]);
  expect(failed.error).toBe(error);
});
