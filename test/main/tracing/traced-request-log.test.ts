import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { requestSpans } from '../../../src/adapters/tracing/request-spans.ts';
import type { RequestLog } from '../../../src/adapters/http/contract/request-log.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { tracedRequestLog } from '../../../src/main/tracing/traced-request-log.ts';

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => context.disable());

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';
const IDS = { trace_id: TRACE_ID, span_id: SPAN_ID, trace_flags: '01' };
const UNAVAILABLE = new StorageUnavailable('no primary');

/** Calls `report` while a span is active. Returns the trace ids of the log line that it writes. */
function idsOf(report: (log: RequestLog) => void): unknown {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const log = tracedRequestLog(logger, requestSpans(new TracerProvider().getTracer('test')));
  const span = { traceId: TRACE_ID, spanId: SPAN_ID, traceFlags: 1 };
  const activeContext = trace.setSpanContext(ROOT_CONTEXT, span);
  context.with(activeContext, () => report(log));
  const { trace_id, span_id, trace_flags } = lines[0] ?? {};
  expect(lines).toHaveLength(1);
  return { trace_id, span_id, trace_flags };
}

const NO_IDS = { trace_id: undefined, span_id: undefined, trace_flags: undefined };

it.each<[string, object, (log: RequestLog) => void]>([
  ['a failed request has the ids of its span', IDS, (log) => log.failed(UNAVAILABLE, 'r1')],
  [
    'a request that the rate limiter could not count has the ids of its span',
    IDS,
    (log) => log.notLimited(UNAVAILABLE, 'r1'),
  ],
  ['a failure without a request has no ids', NO_IDS, (log) => log.failed(UNAVAILABLE, undefined)],
  ['a connection error has no ids', NO_IDS, (log) => log.connectionError({ kind: 'refused' })],
])('the log line of %s', (_, ids, report) => {
  expect(idsOf(report)).toStrictEqual(ids);
});
