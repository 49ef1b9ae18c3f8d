import { once } from 'node:events';
import { createConnection } from 'node:net';
import { expect, test } from 'vitest';
import { startApi } from '../../../support/http.ts';
import { SCRIPT } from '../raw-requests.ts';
import { announced, get, serve } from './held-requests.ts';

/** Longer than any drain here takes. */
const TIMEOUT_MS = 30_000;

test('a drain closes each connection after its next answer or the answer in progress, and idle connections after 500 ms', async () => {
  const { connect, server, answer, untilHandled } = await serve();
  const [fresh, used, busy, late] = [await connect(), await connect(), await connect(), await connect()];
  await used.send(get('used'));
  await answer();
  expect(await announced(used, 1)).toStrictEqual(['keep-alive']);
  await busy.send(get('1') + get('2'));
  await untilHandled(2);
  expect(server.isDraining).toBe(false);
  const beganMs = performance.now();
  const drained = server.drain(TIMEOUT_MS);
  expect(server.isDraining).toBe(true);
  await late.send(get('late'));
  for (let i = 0; i < 3; i++) await answer();
  expect(await announced(busy, 2)).toStrictEqual(['keep-alive', 'close']);
  expect(await announced(late, 1)).toStrictEqual(['close']);
  for (const client of [busy, late, fresh, used]) await client.closed();
  expect(performance.now() - beganMs).toBeGreaterThanOrEqual(500);
  expect(await drained).toBe(0);
});

test('a drain refuses new connections, still answers idle connections, and answers a request that had begun', async () => {
  const { connect, server, answer, untilHandled } = await serve();
  const begun = await connect('GET /livez?begun HT');
  const idle = await connect();
  await connect(get('x'));
  await untilHandled(1);
  const drained = server.drain(TIMEOUT_MS);
  await expect.poll(() => isRefused(server.port)).toBe(true);
  await idle.send(get('late'));
  await begun.send('TP/1.1\r\nHost: x\r\n\r\n');
  for (let i = 0; i < 3; i++) await answer();
  expect(await announced(idle, 1)).toStrictEqual(['close']);
  expect(await announced(begun, 1)).toStrictEqual(['close']);
  expect(await drained).toBe(0);
});

async function isRefused(port: number): Promise<boolean> {
  const socket = createConnection(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}

test('a drain cuts off the remaining connections at its timeout, and counts only connections in use', async () => {
  const { connect, server, answer, untilHandled } = await serve();
  const [idle, waiting, slow, begun] = [await connect(), await connect(), await connect(), await connect()];
  slow.pause();
  await slow.send(get('slow'));
  await answer(Buffer.alloc(20 * 1024 * 1024));
  await waiting.send(get('waiting'));
  await begun.send('GET /');
  await untilHandled(2);
  expect(await server.drain(100)).toBe(3);
  slow.close();
  for (const client of [idle, waiting, begun]) await client.closed();
});

test('a drain accepts connections during its delay, and each answer is then the last of its connection', async () => {
  const { connect, server, answer } = await serve();
  const old = await connect();
  const drained = server.drain(TIMEOUT_MS, 300);
  for (const next of [() => old, () => connect()]) {
    const client = await next();
    await client.send(get('x'));
    await answer();
    expect(await announced(client, 1)).toStrictEqual(['close']);
    await client.closed();
  }
  expect(await drained).toBe(0);
});

test('a drain waits for a slow client to read all of its answers', async () => {
  await using api = await startApi();
  const connection = await api.connect();
  connection.pause();
  // Far more than socket buffers hold.
  await connection.send(SCRIPT.repeat(8));
  await api.log.record(0);
  const drained = api.drain(TIMEOUT_MS);
  // Far beyond the time that idle connections have.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  connection.resume();
  const statuses: number[] = [];
  while (statuses.length < 8) statuses.push((await connection.answer()).status);
  expect(statuses).toStrictEqual(Array(8).fill(200));
  await connection.closed();
  expect(await drained).toBe(0);
});
