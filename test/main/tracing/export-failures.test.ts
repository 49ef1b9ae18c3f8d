import { ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { pino } from 'pino';
import { beforeEach, expect, it, vi } from 'vitest';
import { fakeClock } from '../../support/fake-clock.ts';
import { watchExports } from '../../../src/main/tracing/export-failures.ts';

const MINUTE_MS = 60_000;

beforeEach(() => void fakeClock());

/** Watches an exporter. `failExport` and `succeedExport` export two spans, and `lines` collects the log lines. */
function watchExporter() {
  const lines: unknown[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) });
  let result: { code: ExportResultCode; error?: Error };
  const exporter = { export: (_: unknown, done: (exportResult: typeof result) => void) => done(result) };
  const { watchedExporter } = watchExports({ ...exporter, shutdown: async () => {} }, log);
  const exportWith = (exportResult: typeof result) => {
    result = exportResult;
    watchedExporter.export([{}, {}] as ReadableSpan[], (outcome) => expect(outcome).toBe(exportResult));
  };
  return {
    lines,
    failExport: (error?: Error) => exportWith({ code: ExportResultCode.FAILED, ...(error && { error }) }),
    succeedExport: () => exportWith({ code: ExportResultCode.SUCCESS }),
  };
}

const WARNING = { level: 40, msg: 'traces are not exported, and spans are lost' };
const RECOVERY = { level: 30, msg: 'traces are exported again' };

it('an outage of the receiver is logged with one line when it begins and one line when it ends', () => {
  const { lines, failExport, succeedExport } = watchExporter();
  succeedExport();
  for (let n = 0; n < 3; n++) failExport(new Error('refused'));
  vi.advanceTimersByTime(MINUTE_MS);
  succeedExport();
  succeedExport();
  failExport(new Error('late'));
  vi.advanceTimersByTime(MINUTE_MS);
  succeedExport();
  expect(lines).toStrictEqual([
    { ...WARNING, reason: 'refused' },
    RECOVERY,
    { ...WARNING, reason: 'late' },
    RECOVERY,
  ]);
});

it('failures less than a minute apart are logged as one outage', () => {
  const { lines, failExport, succeedExport } = watchExporter();
  for (let minute = 0; minute < 10; minute++) {
    failExport(new Error('refused'));
    vi.advanceTimersByTime(MINUTE_MS - 1);
    succeedExport();
  }
  expect(lines).toStrictEqual([{ ...WARNING, reason: 'refused' }]);
});

const noMessage = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
it.each([
  ['the message of its error', new Error('Unauthorized'), 'Unauthorized'],
  [
    'the message and the code of its error',
    Object.assign(new Error('Unauthorized'), { code: 401, data: 'secret' }),
    'Unauthorized, 401',
  ],
  ['the code of an error without a message', noMessage, 'ECONNREFUSED'],
  ['the word unknown when it has no error', undefined, 'unknown'],
])('the logged reason of a failed export is %s', (_, error, reason) => {
  const { lines, failExport } = watchExporter();
  failExport(error);
  expect(lines).toStrictEqual([{ ...WARNING, reason }]);
});
