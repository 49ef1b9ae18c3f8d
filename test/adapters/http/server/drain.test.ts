import { once } from 'node:events';
import { createConnection } from 'node:net';
import { expect, test } from 'vitest';
import { startApi } from '../../../support/http.ts';
import { SCRIPT } from '../raw-requests.ts';
import { connectionHeaders, get, serve } from './held-requests.ts';

/** The timeout of a drain that cuts off no connection. This time is longer than the drains in this file take. */
const TIMEOUT_MS = 30_000;

test('a drain closes a connection after the answer to its last request, and an idle connection after 500 ms', async () => {
  const { connect, server, answerOldest, waitUntilHandled } = await serve();
  const clients = [await connect(), await connect(), await connect(), await connect()] as const;
  const [newClient, idleClient, busyClient, lateClient] = clients;
  await idleClient.send(get('used'));
  await answerOldest();
  expect(await connectionHeaders(idleClient, 1)).toStrictEqual(['keep-alive']);
  await busyClient.send(get('1') + get('2'));
  await waitUntilHandled(2);
  expect(server.isDraining).toBe(false);
  const beganMs = performance.now();
  const drained = server.drain(TIMEOUT_MS);
  expect(server.isDraining).toBe(true);
  await lateClient.send(get('late'));
  for (let i = 0; i < 3; i++) await answerOldest();
  expect(await connectionHeaders(busyClient, 2)).toStrictEqual(['keep-alive', 'close']);
  expect(await connectionHeaders(lateClient, 1)).toStrictEqual(['close']);
  for (const client of [busyClient, lateClient, newClient, idleClient]) await client.closed();
  expect(performance.now() - beganMs).toBeGreaterThanOrEqual(500);
  expect(await drained).toBe(0);
});

test('a drain refuses new connections, but answers a request on an idle connection, and a request that has not arrived completely', async () => {
  const { connect, server, answerOldest, waitUntilHandled } = await serve();
  const halfwayClient = await connect('GET /livez?begun HT');
  const idleClient = await connect();
  await connect(get('x'));
  await waitUntilHandled(1);
  const drained = server.drain(TIMEOUT_MS);
  await expect.poll(() => isRefused(server.port)).toBe(true);
  await idleClient.send(get('late'));
  await halfwayClient.send('TP/1.1\r\nHost: x\r\n\r\n');
  for (let i = 0; i < 3; i++) await answerOldest();
  expect(await connectionHeaders(idleClient, 1)).toStrictEqual(['close']);
  expect(await connectionHeaders(halfwayClient, 1)).toStrictEqual(['close']);
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

test('a drain cuts off the remaining connections at its timeout, and returns the number of those that are not idle', async () => {
  const { connect, server, answerOldest, waitUntilHandled } = await serve();
  const clients = [await connect(), await connect(), await connect(), await connect()] as const;
  const [idleClient, waitingClient, slowClient, halfwayClient] = clients;
  slowClient.pause();
  await slowClient.send(get('slow'));
  await answerOldest(Buffer.alloc(20 * 1024 * 1024));
  await waitingClient.send(get('waiting'));
  await halfwayClient.send('GET /');
  await waitUntilHandled(2);
  expect(await server.drain(100)).toBe(3);
  slowClient.close();
  for (const client of [idleClient, waitingClient, halfwayClient]) await client.closed();
});

test('a drain accepts new connections during its delay, and closes each connection after its next answer', async () => {
  const { connect, server, answerOldest } = await serve();
  const earlierClient = await connect();
  const drained = server.drain(TIMEOUT_MS, 300);
  for (const clientOf of [() => earlierClient, () => connect()]) {
    const client = await clientOf();
    await client.send(get('x'));
    await answerOldest();
    expect(await connectionHeaders(client, 1)).toStrictEqual(['close']);
    await client.closed();
  }
  expect(await drained).toBe(0);
});

test('a drain waits until a slow client has read all its answers', async () => {
  await using api = await startApi();
  const connection = await api.connect();
  connection.pause();
  // Eight of these answers do not fit in the buffers of the sockets.
  await connection.send(SCRIPT.repeat(8));
  await api.log.record(0);
  const drained = api.drain(TIMEOUT_MS);
  // Longer than the 500 ms after which a drain closes idle connections.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  connection.resume();
  const statuses: number[] = [];
  while (statuses.length < 8) statuses.push((await connection.answer()).status);
  expect(statuses).toStrictEqual(Array(8).fill(200));
  await connection.closed();
  expect(await drained).toBe(0);
});
