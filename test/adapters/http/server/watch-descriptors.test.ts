import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listen } from '../../../../src/adapters/http/server/listen.ts';
import { watchDescriptors } from '../../../../src/adapters/http/server/watch-descriptors.ts';
import { run, SERVICE, SERVICE_ENV } from '../../../support/process.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { RecordingLog } from '../../../support/recording-log.ts';

const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

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

// libuv accepts a connection beyond the limit and closes it at once, without telling Node.
test('more connections than descriptors: the service logs it once, and accepts again once others close', async () => {
  const args = ['-c', 'ulimit -n 60; exec "$0" "$@"', process.execPath, ...SERVICE];
  const service = run('sh', args, { ...SERVICE_ENV, API_KEYS: 'a-key-of-the-tests' });
  const port = Number(new URL(await service.url()).port);
  const first = await RawConnection.open(port);
  await first.send(LIVEZ);
  expect((await first.answer()).status).toBe(200);

  const others: RawConnection[] = [];
  for (let i = 0; i < 60; i++) others.push(await RawConnection.open(port));
  await others.at(-1)?.closed();
  await first.send(LIVEZ);
  expect((await first.answer()).status).toBe(200);
  // Building the document on its first request needs no descriptor.
  await first.send(LIVEZ.replace('/livez', '/openapi.json'));
  expect((await first.answer()).status).toBe(200);
  const exhausted = 'out of file descriptors: new connections are closed without an answer';
  expect(await service.logged(exhausted)).toMatchObject({ level: 40 });

  for (const connection of others) connection.close();
  await service.logged('file descriptors are available again');
  expect(service.log.filter(({ msg }) => msg === exhausted)).toHaveLength(1);
  await first.send(LIVEZ);
  expect((await first.answer()).status).toBe(200);
  const late = await RawConnection.open(port);
  await late.send(LIVEZ);
  expect((await late.answer()).status).toBe(200);
  for (const connection of [first, late]) connection.close();
  service.signal('SIGTERM');
  expect(await service.ended).toStrictEqual({ code: 0, signal: null });
});
