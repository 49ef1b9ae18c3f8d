import { expect, test } from 'vitest';
import { TIMEOUT, whole } from '../../../support/answer.ts';
import { announced, get, serve } from './held-requests.ts';

const MIB = 1024 * 1024;

/** As many of the shortest requests as Node reads at once: they take 14 MiB. */
const FLOOD = 'GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(2_700);

test('waiting requests that exceed the memory limit close their connection, and no other', async () => {
  const { connect, answer, log, untilHandled } = await serve({ maxHeldBytes: 8 * MIB });
  const other = await connect(get('1') + get('2'));
  await untilHandled(1);
  const flooding = await connect();
  // It may be closed in the middle of this.
  await flooding.send(FLOOD).catch(() => {});
  await flooding.closed();
  expect(log.connectionErrors).toStrictEqual([{ kind: 'cut-off' }]);
  // One of them is the first request of the flood.
  for (let i = 0; i < 3; i++) await answer();
  expect(await announced(other, 2)).toStrictEqual(['keep-alive', 'keep-alive']);
});

test('ignored requests behind a late request count toward the memory limit', async () => {
  const limits = { maxHeldBytes: 8 * MIB, headersTimeoutMs: 50, requestTimeoutMs: 50 };
  const { connect, log, untilHandled } = await serve(limits);
  const client = await connect(get('1') + get('2', 'Content-Length: 5\r\n'));
  await untilHandled(1);
  // Its time begins later, so it is late after the first.
  expect(whole(await (await connect('GET /')).answer())).toStrictEqual(TIMEOUT);
  await client.send(`12345${FLOOD}`).catch(() => {});
  await client.closed();
  expect(log.connectionErrors).toStrictEqual([{ kind: 'cut-off' }]);
});

test('unread answers that exceed the memory limit close the connection with the longest answers', async () => {
  const { connect, answer, log, server, untilHandled } = await serve({ maxHeldBytes: 64 * MIB });
  const bodies = [10, 30, 60].map((size) => Buffer.alloc(size * MIB));
  for (const [index, body] of bodies.entries()) {
    const client = await connect();
    client.pause();
    await client.send(get(`${index}`));
    await untilHandled(index + 1);
    await answer(body);
  }
  expect(await log.connectionErrorAt(0)).toStrictEqual({ kind: 'cut-off' });
  const other = await connect(get('other'));
  await answer();
  expect(await announced(other, 1)).toStrictEqual(['keep-alive']);
  // A drain waits for the other two.
  expect(await server.drain(50)).toBe(2);
});
