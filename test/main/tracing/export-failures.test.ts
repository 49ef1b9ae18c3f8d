import { ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { pino } from 'pino';
import { beforeEach, expect, it, vi } from 'vitest';
import { fakeClock } from '../../support/fake-clock.ts';
import { watchExports } from '../../../src/main/tracing/export-failures.ts';

const MINUTE_MS = 60_000;

beforeEach(() => void fakeClock());

/** An exporter whose exports end as told, and what was logged. */
function watching() {
  const lines: unknown[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) });
  let result: { code: ExportResultCode; error?: Error };
  const exporter = { export: (_: unknown, done: (given: typeof result) => void) => done(result) };
  const { watched } = watchExports({ ...exporter, shutdown: async () => {} }, log);
  const exports = (given: typeof result) => {
    result = given;
    watched.export([{}, {}] as ReadableSpan[], (outcome) => expect(outcome).toBe(given));
  };
  return {
    lines,
    fails: (error?: Error) => exports({ code: ExportResultCode.FAILED, ...(error && { error }) }),
    succeeds: () => exports({ code: ExportResultCode.SUCCESS }),
  };
}

const WARNING = { level: 40, msg: 'traces are not exported: spans are lost' };
const OVER = { level: 30, msg: 'traces are exported again' };

it('an outage of the receiver is logged with one line when it begins and one line when it ends', () => {
  const { lines, fails, succeeds } = watching();
  succeeds();
  for (let n = 0; n < 3; n++) fails(new Error('refused'));
  vi.advanceTimersByTime(MINUTE_MS);
  succeeds();
  succeeds();
  fails(new Error('late'));
  vi.advanceTimersByTime(MINUTE_MS);
  succeeds();
  expect(lines).toStrictEqual([
    { ...WARNING, reason: 'refused' },
    OVER,
    { ...WARNING, reason: 'late' },
    OVER,
  ]);
});

it('a receiver that fails again within a minute is logged as one outage', () => {
  const { lines, fails, succeeds } = watching();
  for (let minute = 0; minute < 10; minute++) {
    fails(new Error('refused'));
    vi.advanceTimersByTime(MINUTE_MS - 1);
    succeeds();
  }
  expect(lines).toStrictEqual([{ ...WARNING, reason: 'refused' }]);
});

it.each([
  ['its message', new Error('Unauthorized'), 'Unauthorized'],
  [
    'its message and its code',
    Object.assign(new Error('Unauthorized'), { code: 401, data: 'secret' }),
    'Unauthorized, 401',
  ],
  ['its code alone', Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
  ['the word unknown if there is no error', undefined, 'unknown'],
])('the logged reason of a failed export is %s', (_, error, reason) => {
  const { lines, fails } = watching();
  fails(error);
  expect(lines).toStrictEqual([{ ...WARNING, reason }]);
});
