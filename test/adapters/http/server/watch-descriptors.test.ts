import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listen } from '../../../../src/adapters/http/server/listen.ts';
import { watchDescriptors } from '../../../../src/adapters/http/server/watch-descriptors.ts';
import { RecordingLog } from '../../../support/recording-log.ts';

/** Makes the operating system refuse to open files with this error, or open them again. */
function openFails(code: string | undefined): void {
  vi.restoreAllMocks();
  if (code !== undefined) {
    vi.spyOn(fs, 'openSync').mockImplementation(() => {
      throw Object.assign(new Error(code), { code });
    });
  }
  syncBuiltinESMExports();
}

test('the server logs it', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => {
    vi.useRealTimers();
    openFails(undefined);
  });
  const log = new RecordingLog();
  const server = await listen(() => {}, { host: '127.0.0.1', port: 0, log });
  for (const code of ['EMFILE', undefined]) {
    openFails(code);
    vi.advanceTimersByTime(1_000);
  }
  expect(log.troubles).toStrictEqual([{ kind: 'no-descriptors' }, { kind: 'descriptors-again' }]);
  await server.drain(0);
});

test('reports once a second that there is no descriptor, and that there is one again, once each', () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
    openFails(undefined);
  });
  const reports: boolean[] = [];
  const stop = watchDescriptors((isExhausted) => void reports.push(isExhausted));
  const after = (ms: number, code?: string) => {
    openFails(code);
    vi.advanceTimersByTime(ms);
    openFails(undefined);
    return reports;
  };
  expect(after(2_000)).toStrictEqual([]);
  expect(after(999, 'EMFILE')).toStrictEqual([]);
  expect(after(1, 'EMFILE')).toStrictEqual([true]);
  expect(after(5_000, 'ENFILE')).toStrictEqual([true]);
  // The system found a descriptor before it saw anything else.
  expect(after(5_000, 'EACCES')).toStrictEqual([true, false]);
  expect(after(1_000, 'ENFILE')).toStrictEqual([true, false, true]);
  expect(after(1_000)).toStrictEqual([true, false, true, false]);
  stop();
  expect(vi.getTimerCount()).toBe(0);
});
