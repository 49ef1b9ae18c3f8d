import { expect, test } from 'vitest';
import { TIMEOUT, brief } from '../../../support/answer.ts';
import { connectionHeaders, get, serve } from './held-requests.ts';

const MIB = 1024 * 1024;

/** As many of the shortest requests as Node reads in one piece. The parsed requests take 14 MiB of memory. */
const FLOOD = 'GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(2_700);

test('if waiting requests exceed the memory limit, the service closes their connection, and no other connection', async () => {
  const { connect, answerOldest, log, waitUntilHandled } = await serve({ maxHeldBytes: 8 * MIB });
  const otherClient = await connect(get('1') + get('2'));
  await waitUntilHandled(1);
  const floodingClient = await connect();
  // The service may close the connection before all bytes are sent.
  await floodingClient.send(FLOOD).catch(() => {});
  await floodingClient.closed();
  expect(log.connectionErrors).toStrictEqual([{ kind: 'cut-off' }]);
  // Answers the two requests of the other client, and the first request of the flood.
  for (let i = 0; i < 3; i++) await answerOldest();
  expect(await connectionHeaders(otherClient, 2)).toStrictEqual(['keep-alive', 'keep-alive']);
});

test('requests that are ignored after a request missed its time limit count toward the memory limit', async () => {
  const limits = { maxHeldBytes: 8 * MIB, headersTimeoutMs: 50, requestTimeoutMs: 50 };
  const { connect, log, waitUntilHandled } = await serve(limits);
  const client = await connect(get('1') + get('2', 'Content-Length: 5\r\n'));
  await waitUntilHandled(1);
  // This connection begins later. When it is answered with 408, the time limit of the second request above is over,
  // too.
  expect(brief(await (await connect('GET /')).answer())).toStrictEqual(TIMEOUT);
  await client.send(`12345${FLOOD}`).catch(() => {});
  await client.closed();
  expect(log.connectionErrors).toStrictEqual([{ kind: 'cut-off' }]);
});

test('if unread answers exceed the memory limit, the service closes the connection with the longest answers', async () => {
  const { connect, answerOldest, log, server, waitUntilHandled } = await serve({ maxHeldBytes: 64 * MIB });
  const bodies = [10, 30, 60].map((size) => Buffer.alloc(size * MIB));
  for (const [index, body] of bodies.entries()) {
    const client = await connect();
    client.pause();
    await client.send(get(`${index}`));
    await waitUntilHandled(index + 1);
    await answerOldest(body);
  }
  expect(await log.connectionErrorAt(0)).toStrictEqual({ kind: 'cut-off' });
  const otherClient = await connect(get('other'));
  await answerOldest();
  expect(await connectionHeaders(otherClient, 1)).toStrictEqual(['keep-alive']);
  // The two connections with shorter answers are still open, and the drain cuts them off.
  expect(await server.drain(50)).toBe(2);
});
