import { connect } from 'node:net';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { InMemoryPetRepository } from '../../../../src/adapters/memory/pet-repository.ts';
import { problem, success, whole } from '../../../support/answer.ts';
import { type Api, KEY, startApi } from '../../../support/http.ts';
import { HeldPetRepository, petBody } from '../../../support/pets.ts';

/** Longer than any drain here takes: a test that reaches it fails. */
const TIMEOUT_MS = 10_000;

const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
const READYZ = 'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n';
const LIST = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;
const POST = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n`;
const EMPTY = success(200, '[]');

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
    await connection.send(`${POST}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
    // The server reads what was sent before this, so it has seen the beginning.
    await api.get('/livez');
    const { drained } = await longDrain(api);
    await connection.send(body.slice(5));
    expect(await connection.answer()).toMatchObject({ status: 201, headers: { connection: 'close' } });
    expect(await drained).toBe(0);
  });

  test('closes idle connections, used or not, while a request is in progress', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets });
    const [busy, idle, unused] = [await api.connect(), await api.connect(), await api.connect()];
    await idle.send(LIVEZ);
    await idle.answer();
    await busy.send(LIST);
    await pets.calls(1);
    const { drained } = await longDrain(api);
    await Promise.all([idle.closed(), unused.closed()]);
    pets.release();
    expect(whole(await busy.answer())).toStrictEqual(EMPTY);
    expect(await drained).toBe(0);
  });

  test('answers every request on a connection', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets });
    const connection = await api.connect();
    await connection.send(LIST + LIST);
    await pets.calls(1);
    await api.get('/livez');
    const { drained } = await longDrain(api, async () => {
      await connection.send(LIST);
      // The server reads what was sent before this, so it has seen the request.
      await api.get('/livez');
    });
    pets.release();
    const answers = [await connection.answer(), await connection.answer(), await connection.answer()];
    expect(answers.map(whole)).toStrictEqual([EMPTY, EMPTY, EMPTY]);
    expect(answers.map(({ headers }) => headers['connection'])).toStrictEqual([
      'keep-alive',
      'keep-alive',
      'close',
    ]);
    await connection.closed();
    expect(await drained).toBe(0);
  });

  test('answers a request that is on its way over an idle connection', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send(LIVEZ);
    expect((await connection.answer()).headers['connection']).toBe('keep-alive');
    const { drained } = await longDrain(api, undefined, 100);
    await connection.send(LIVEZ);
    expect(await connection.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await connection.closed();
    expect(await drained).toBe(0);
  });

  test('answers a request that has begun on a connection in use', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send(LIVEZ + LIVEZ.slice(0, 9));
    expect((await connection.answer()).headers['connection']).toBe('keep-alive');
    const { drained } = await longDrain(api);
    await connection.send(LIVEZ.slice(9));
    expect((await connection.answer()).headers['connection']).toBe('close');
    expect(await drained).toBe(0);
  });

  test('lets a slow client read all of its answers', async () => {
    const { api, connection, requests } = await apiWithPausedClient();
    await using _ = api;
    const { drained } = await longDrain(api);
    connection.resume();
    for (let answers = 0; answers < requests; answers++) {
      expect((await connection.answer()).status).toBe(200);
    }
    await connection.closed();
    expect(await drained).toBe(0);
  });

  test('does not wait for a client that disconnected without its answers', async () => {
    const { api, connection } = await apiWithPausedClient();
    await using _ = api;
    connection.abort();
    await expect.poll(() => api.log.records.some(({ aborted }) => aborted)).toBe(true);
    // Leaves an idle connection, which is closed while no client is backlogged.
    await api.get('/livez');
    expect(await api.drain(TIMEOUT_MS)).toBe(0);
  });

  test('closes a connection whose last answer, already written, says "keep-alive"', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets });
    const connection = await api.connect();
    await connection.send(LIST);
    await pets.calls(1);
    pets.release();
    // The answer is written in the microtasks of this tick, and sent after it.
    for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    const drained = api.drain(TIMEOUT_MS);
    expect((await connection.answer()).headers['connection']).toBe('keep-alive');
    await connection.closed();
    expect(await drained).toBe(0);
  });

  test('does not wait for a connection whose CONNECT was refused', async () => {
    await using api = await startApi();
    const connection = await api.connect();
    await connection.send('CONNECT /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await connection.answer()).toMatchObject({ status: 405 });
    expect(await api.drain(TIMEOUT_MS)).toBe(0);
  });

  test('makes /readyz answer 503, and /livez 200 as before', async () => {
    await using api = await startApi();
    const unavailable = 'the service is shutting down';
    const expected = [
      [READYZ, problem(503, 'UNAVAILABLE', unavailable, { 'retry-after': '2' })],
      [LIVEZ, success(200, '{"status":"ok"}')],
    ] as const;
    const connections = [await api.connect(), await api.connect()];
    for (const [index, [request]] of expected.entries()) await connections[index]!.send(request.slice(0, 9));
    await api.get('/livez');
    const drained = api.drain(TIMEOUT_MS);
    for (const [index, [request, answer]] of expected.entries()) {
      await connections[index]!.send(request.slice(9));
      expect(whole(await connections[index]!.answer())).toStrictEqual(answer);
    }
    expect(await drained).toBe(0);
    // A drain is not logged as a failure.
    expect(api.log.failures).toStrictEqual([]);
  });

  test('does not process requests after the last answer', async () => {
    const pets = new InMemoryPetRepository();
    await using api = await startApi({ pets });
    const connection = await api.connect();
    await connection.send(LIVEZ.slice(0, 9));
    await api.get('/livez');
    const drained = api.drain(TIMEOUT_MS);
    const body = petBody();
    await connection.send(LIVEZ.slice(9));
    expect((await connection.answer()).headers['connection']).toBe('close');
    await connection.send(`${POST}Content-Length: ${body.length}\r\n\r\n${body}`);
    await connection.closed();
    expect(await drained).toBe(0);
    expect(await pets.list({ limit: 1 })).toStrictEqual([]);
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

    const [ready, list] = [await api.connect(), await api.connect()];
    await Promise.all([old.send(LIST), ready.send(READYZ), list.send(LIST)]);
    const answers = [await old.answer(), await ready.answer(), await list.answer()];
    expect(answers.map(({ status, headers }) => [status, headers['connection']])).toStrictEqual([
      [200, 'close'],
      [503, 'close'],
      [200, 'close'],
    ]);
    await Promise.all([old.closed(), ready.closed(), list.closed()]);

    vi.advanceTimersByTime(ACCEPT_MS - 1);
    expect((await api.get('/livez')).status).toBe(200);
    vi.advanceTimersByTime(1);
    expect(await drained).toBe(0);
    await expectRefusal(api);
  });
});

describe('at the timeout', () => {
  test('connections that are still open are cut off and counted', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets });
    const waiting = await api.connect();
    const halfway = await api.connect();
    const uploading = await api.connect();
    await waiting.send(LIST);
    await halfway.send('GET /livez HTTP/1.1\r\nHost');
    await uploading.send(`${POST}Content-Length: 10\r\n\r\n{`);
    await pets.calls(1);
    await api.get('/livez');
    const drained = api.drain(50);
    expect(await waiting.next()).toBeUndefined();
    await Promise.all([halfway.closed(), uploading.closed()]);
    expect(await drained).toBe(3);
    expect(await api.log.record(2)).toMatchObject({ route: '/v1/pets', aborted: true });
    expect(api.log.failures).toStrictEqual([]);
  });

  test('a connection detached from the parser by CONNECT is cut off', async () => {
    const tokens = { verify: () => new Promise<undefined>(() => {}) };
    await using api = await startApi({ tokens });
    const connection = await api.connect();
    await connection.send(`CONNECT /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`);
    await api.get('/livez');
    expect(await api.drain(50)).toBe(1);
    await connection.closed();
  });
});

/**
 * Begins a drain, and returns when it refuses connections and has done, on the event loop and on the clock, all that it
 * does in so many milliseconds. By default, that is far beyond the time that idle connections have.
 */
async function longDrain(api: Api, meanwhile = async () => {}, afterMs = TIMEOUT_MS / 2) {
  const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] as const;
  vi.useFakeTimers({ toFake: [...toFake], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  const drained = api.drain(TIMEOUT_MS);
  await meanwhile();
  await expectRefusal(api);
  vi.advanceTimersByTime(afterMs);
  await new Promise(setImmediate);
  return { drained };
}

async function expectRefusal({ port }: Api): Promise<void> {
  const late = connect({ host: '127.0.0.1', port });
  await expect(once(late, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
}

/** A client that has asked for far more than socket buffers hold, and reads nothing. */
async function apiWithPausedClient() {
  const requests = 8;
  const api = await startApi();
  const connection = await api.connect();
  connection.pause();
  await connection.send('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(requests));
  const begun = () => api.log.records.filter(({ route }) => route !== '/livez').length;
  // Wait until the system takes no more of the answers.
  for (let before = -1; before < begun(); ) {
    before = begun();
    for (let i = 0; i < 10; i++) await api.get('/livez');
  }
  return { api, connection, requests };
}
