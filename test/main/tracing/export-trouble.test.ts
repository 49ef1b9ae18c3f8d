import { ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { ExportTrouble } from '../../../src/main/tracing/export-trouble.ts';

function troubleWithLog() {
  const lines: unknown[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) });
  const clock = { nowMs: 0 };
  return { lines, clock, trouble: new ExportTrouble(log, () => clock.nowMs) };
}

const WARNING = { level: 40, msg: 'traces are not exported: spans are lost' };
const OVER = { level: 30, msg: 'traces are exported again' };

it('reports each outage once, and its end with the number of lost spans', () => {
  const { lines, clock, trouble } = troubleWithLog();
  trouble.exported();
  for (const spans of [3, 4, 5]) trouble.lost(spans, 'refused');
  clock.nowMs = 60_000;
  trouble.exported();
  trouble.exported();
  trouble.lost(1, 'late');
  clock.nowMs = 120_000;
  trouble.exported();
  expect(lines).toStrictEqual([
    { ...WARNING, reason: 'refused' },
    { ...OVER, lostSpans: 12 },
    { ...WARNING, reason: 'late' },
    { ...OVER, lostSpans: 1 },
  ]);
});

it('takes a receiver that comes and goes for one outage', () => {
  const { lines, clock, trouble } = troubleWithLog();
  for (let minute = 0; minute < 10; minute++) {
    clock.nowMs = minute * 60_000;
    trouble.lost(1, 'refused');
    clock.nowMs += 59_999;
    trouble.exported();
  }
  expect(lines).toStrictEqual([{ ...WARNING, reason: 'refused' }]);
});

it('counts the spans that the queue of the SDK had no room for, and ignores its other messages', () => {
  const { lines, clock, trouble } = troubleWithLog();
  trouble.sdkLog.warn('Dropping extra attributes.');
  trouble.sdkLog.error('{"stack":"…"}');
  trouble.sdkLog.warn('Dropped 17 spans because maxQueueSize reached');
  clock.nowMs = 60_000;
  trouble.exported();
  expect(lines).toStrictEqual([
    { ...WARNING, reason: 'more spans wait than OTEL_BSP_MAX_QUEUE_SIZE' },
    { ...OVER, lostSpans: 17 },
  ]);
});

it.each([
  ['its message', new Error('Unauthorized'), 'Unauthorized'],
  [
    'its code too',
    Object.assign(new Error('Unauthorized'), { code: 401, data: 'secret' }),
    'Unauthorized, 401',
  ],
  ['its code alone', Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
  ['nothing', undefined, 'unknown'],
])('gives the reason of a failed export by %s', async (_, error, reason) => {
  const { lines, trouble } = troubleWithLog();
  const result = { code: ExportResultCode.FAILED, ...(error !== undefined && { error }) };
  const exporter = trouble.watch({
    export: (_spans, done) => done(result),
    shutdown: async () => {},
  });
  const results: unknown[] = [];
  exporter.export([{}, {}] as ReadableSpan[], (outcome) => void results.push(outcome));
  expect(lines).toStrictEqual([{ ...WARNING, reason }]);
  expect(results).toStrictEqual([result]);
});
