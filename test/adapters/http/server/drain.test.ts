import { connect } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startApi } from '../../../support/http.ts';
import { SCRIPT } from '../raw-requests.ts';

/** Longer than the drain takes: a test that reaches it fails. */
const TIMEOUT_MS = 10_000;

// close-server.test.ts has everything else, without a port.
test('a drain lets a slow client read all of its answers, and refuses connections meanwhile', async () => {
  await using api = await startApi();
  const connection = await api.connect();
  connection.pause();
  // Far more than socket buffers hold.
  await connection.send(SCRIPT.repeat(8));
  await api.log.record(0);
  const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] as const;
  vi.useFakeTimers({ toFake: [...toFake], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  const drained = api.drain(TIMEOUT_MS);
  const late = connect({ host: '127.0.0.1', port: api.port });
  await expect(once(late, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  // Far beyond the time that idle connections have.
  vi.advanceTimersByTime(TIMEOUT_MS / 2);
  await new Promise(setImmediate);
  connection.resume();
  for (let answers = 0; answers < 8; answers++) expect((await connection.answer()).status).toBe(200);
  await connection.closed();
  expect(await drained).toBe(0);
});
