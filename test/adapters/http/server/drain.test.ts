import { connect } from 'node:net';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { EMPTY, whole } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import { HeldPetRepository, petBody } from '../../../support/pets.ts';
import { list, LIVEZ, post } from '../raw-requests.ts';

/** Longer than any drain here takes: a test that reaches it fails. */
const TIMEOUT_MS = 10_000;

const READYZ = 'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n';
const LIST = list();

describe('a drain', () => {
  test('lets a request in progress have its answer, which says "close"', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets });
    const connection = await api.connect();
    await connection.send(LIST);
    await pets.calls(1);
    const { drained } = await longDrain(api);
    pets.release();
    const answer = await connection.answer();
    expect(whole(answer)).toStrictEqual(EMPTY);
    expect(answer.headers['connection']).toBe('close');
    await connection.closed();
    expect(await drained).toBe(0);
  });

  test('lets a request finish its body', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    const body = petBody();
    await connection.send(`${post(`Content-Length: ${body.length}\r\n`)}${body.slice(0, 5)}`);
    // The server reads what was sent before this, so it has seen the beginning.
    await api.get('/livez');
    const { drained } = await longDrain(api);
    await connection.send(body.slice(5));
    expect(await connection.answer()).toMatchObject({ status: 201, headers: { connection: 'close' } });
    expect(await drained).toBe(0);
  });

  test('lets a slow client read all of its answers', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    connection.pause();
    // Far more than socket buffers hold.
    const requests = 8;
    await connection.send('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(requests));
    await api.log.record(0);
    const { drained } = await longDrain(api);
    connection.resume();
    for (let answers = 0; answers < requests; answers++) {
      expect((await connection.answer()).status).toBe(200);
    }
    await connection.closed();
    expect(await drained).toBe(0);
  });
});

describe('a drain that still accepts for some time', () => {
  const ACCEPT_MS = 60_000;

  test('answers on old and new connections, each answer the last, and then refuses', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    await using api = await startApi();
    const old = await api.connect();
    await old.send(LIVEZ);
    expect((await old.answer()).headers['connection']).toBe('keep-alive');
    const drained = api.drain(TIMEOUT_MS, ACCEPT_MS);
    expect(api.server.isDraining).toBe(true);

    const [ready, pets] = [await api.connect(), await api.connect()];
    await Promise.all([old.send(LIST), ready.send(READYZ), pets.send(LIST)]);
    const answers = [await old.answer(), await ready.answer(), await pets.answer()];
    expect(answers.map(({ status, headers }) => [status, headers['connection']])).toStrictEqual([
      [200, 'close'],
      [503, 'close'],
      [200, 'close'],
    ]);
    await Promise.all([old.closed(), ready.closed(), pets.closed()]);

    vi.advanceTimersByTime(ACCEPT_MS - 1);
    expect((await api.get('/livez')).status).toBe(200);
    vi.advanceTimersByTime(1);
    expect(await drained).toBe(0);
    await expectRefusal(api);
  });
});

/**
 * Begins a drain, and returns when it refuses connections and has done, on the event loop and on the clock, all that it
 * does far beyond the time that idle connections have.
 */
async function longDrain(api: Api) {
  const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] as const;
  vi.useFakeTimers({ toFake: [...toFake], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  const drained = api.drain(TIMEOUT_MS);
  await expectRefusal(api);
  vi.advanceTimersByTime(TIMEOUT_MS / 2);
  await new Promise(setImmediate);
  return { drained };
}

async function expectRefusal({ port }: Api): Promise<void> {
  const late = connect({ host: '127.0.0.1', port });
  await expect(once(late, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
}
