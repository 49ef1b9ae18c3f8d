import { once } from 'node:events';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { MAX_BODY_BYTES } from '../../../../src/adapters/http/contract/limits.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { settled } from '../../../support/memory-client.ts';
import { connected, get, post } from './in-memory-connections.ts';

/** What a request takes besides its bytes. */
const REQUEST_BYTES = 4096;

const MIB = 1024 * 1024;

const LARGE = Buffer.alloc(100_000, 'x');

describe('the memory that a connection takes', () => {
  test.each([
    ['a body of that length', 'Content-Length: 100\r\n', 100],
    ['a body that is too long', 'Content-Length: 1000000\r\n', MAX_BODY_BYTES],
    ['chunks', 'Transfer-Encoding: chunked\r\n', MAX_BODY_BYTES],
    ['no body', '', 0],
  ])('while it waits for %s', async (_, headers, bytes) => {
    const { client, connection } = await connected();
    expect(connection.heldBytes).toBe(0);
    await client.send(post('/', headers));
    expect(connection.heldBytes).toBe(bytes);
    connection.latest!.flushHeaders();
    await settled();
    expect(connection.heldBytes).toBe(0);
  });

  test('while its client does not read', async () => {
    const { service, client, connection } = await connected();
    client.socket.pause();
    await client.send(get('/'));
    await service.answer('x'.repeat(100_000));
    const unread = connection.socket.writableLength;
    expect(unread).toBeGreaterThan(0);
    expect([connection.heldBytes, connection.isBacklogged]).toStrictEqual([unread + REQUEST_BYTES, true]);
    client.socket.resume();
    await settled();
    expect([connection.heldBytes, connection.isBacklogged]).toStrictEqual([0, false]);
  });

  // A TLS socket keeps the memory that its largest write took.
  test.each([
    ['plain HTTP', {}, [100_000]],
    ['TLS', { encrypted: true }, [...Array<number>(6).fill(14_336), 13_984]],
  ])('while a long body is written over %s', async (_, fields, lengths) => {
    const { service, client, connection } = await connected('', fields);
    const write = vi.spyOn(connection.socket, 'write');
    client.socket.pause();
    await client.send(get('/'));
    connection.latest!.setHeader('Content-Length', LARGE.length);
    await service.answer(LARGE);
    const unread = connection.socket.writableLength + (connection.latest?.waitingBytes ?? 0);
    expect(connection.heldBytes).toBe(unread + REQUEST_BYTES);
    expect(unread).toBeGreaterThan(LARGE.length - 70_000);
    client.socket.resume();
    await settled();
    expect([connection.heldBytes, connection.isAnswering]).toStrictEqual([0, false]);
    expect(client.text.endsWith(String(LARGE))).toBe(true);
    const bodies = write.mock.calls.map(([chunk]) => chunk).filter((chunk) => Buffer.isBuffer(chunk));
    expect(bodies.map(({ length }) => length)).toStrictEqual(lengths);
  });

  test('while a long body is written over TLS to a client that leaves', async () => {
    const { service, client, connection } = await connected('', { encrypted: true });
    client.socket.pause();
    await client.send(get('/'));
    const closed = once(connection.latest!, 'close');
    void service.answer(Buffer.alloc(MIB));
    connection.socket.destroy();
    await closed;
    expect([connection.heldBytes, connection.latest?.writableEnded]).toStrictEqual([0, false]);
  });

  test.each([
    ['requests wait', get('/1') + get('/2') + get('/3'), get('/4'), 3 * REQUEST_BYTES],
    [
      'a body waits',
      get('/1') + post('/2', 'Content-Length: 1000\r\n'),
      'x'.repeat(600),
      REQUEST_BYTES + 1000,
    ],
  ])('while %s for the answer to the first request', async (_, bytes, more, held) => {
    const { client, connection } = await connected(bytes);
    await client.send(more);
    expect(connection.heldBytes).toBe(held);
  });
});

const WAYS = [
  ['plain HTTP', {}],
  ['TLS', { encrypted: true }],
] as const;

describe('a client that keeps sending after the last answer', () => {
  beforeEach(() => void fakeClock('setTimeout', 'clearTimeout'));

  test('has a second once it has read it', async () => {
    const { client, connection } = await connected();
    client.socket.pause();
    connection.socket.write(LARGE);
    for (let i = 0; i < 2; i++) connection.hangUp();
    await settled();
    expect(vi.getTimerCount()).toBe(0);
    client.socket.resume();
    await settled();
    expect([vi.getTimerCount(), client.text]).toStrictEqual([1, String(LARGE)]);
    vi.advanceTimersByTime(999);
    expect(connection.socket.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(connection.socket.destroyed).toBe(true);
  });

  test('and leaves: leaves no timer', async () => {
    const { connection } = await connected();
    connection.hangUp();
    await settled();
    expect(vi.getTimerCount()).toBe(1);
    connection.socket.destroy();
    await settled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each(WAYS)('over %s, may send 16 MiB more, which are dropped', async (_, fields) => {
    const { service, client, connection } = await connected(get('/', 'Connection: close\r\n'), fields);
    await service.answer();
    await client.send(get('/').padEnd(16 * MIB));
    expect([service.parsed, connection.socket.readableLength]).toStrictEqual([1, 0]);
    expect(connection.socket.destroyed).toBe(false);
    await client.send('x');
    expect(connection.socket.destroyed).toBe(true);
  });

  test.each(WAYS)(
    'over %s, may send a MiB of a body that was not read, and has a second',
    async (_, fields) => {
      const { service, client, connection } = await connected(
        post('/', 'Content-Length: 10000000\r\n'),
        fields,
      );
      await service.answer();
      await client.send('x'.repeat(MIB));
      expect(client.hasEnded).toBe(false);
      await client.send('x');
      await client.send(get('/2'));
      expect([client.hasEnded, service.parsed, connection.socket.destroyed]).toStrictEqual([true, 1, false]);
      vi.advanceTimersByTime(1_000);
      expect(connection.socket.destroyed).toBe(true);
    },
  );

  test('may send all of a short body that was not read, and another request', async () => {
    const { service, client } = await connected();
    service.answersAtOnce = true;
    for (const path of ['/1', '/2']) {
      await client.send(post(path, 'Content-Length: 600000\r\n'));
      for (const bytes of [599_999, 1]) await client.send('x'.repeat(bytes));
    }
    await client.send(get('/3'));
    expect([service.handled, client.hasEnded]).toStrictEqual([['/1', '/2', '/3'], false]);
  });
});
