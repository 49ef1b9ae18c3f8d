import { duplexPair } from 'node:stream';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { hangUp } from '../../../../src/adapters/http/server/hang-up.ts';

const MIB = 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
});

/** Until everything that does not wait for a timer has happened. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
}

test('a second after its last words, the connection is destroyed', async () => {
  const [socket, client] = duplexPair();
  hangUp(socket, 'bye');
  await settled();
  // The client has read nothing yet.
  expect(vi.getTimerCount()).toBe(0);
  const received: string[] = [];
  client.on('data', (bytes) => void received.push(String(bytes)));
  await settled();
  expect(received).toStrictEqual(['bye']);
  vi.advanceTimersByTime(999);
  expect(socket.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(socket.destroyed).toBe(true);
});

test('a client that leaves leaves no timer', async () => {
  const [socket, client] = duplexPair();
  client.resume();
  hangUp(socket);
  await settled();
  expect(vi.getTimerCount()).toBe(1);
  socket.destroy();
  await settled();
  expect(vi.getTimerCount()).toBe(0);
});

test('the last words are said once', async () => {
  const [socket, client] = duplexPair();
  hangUp(socket, 'bye');
  hangUp(socket, 'bye');
  client.resume();
  await settled();
  expect(vi.getTimerCount()).toBe(1);
});

test.each([
  ['plain HTTP: up to 16 MiB', {}, 16 * MIB - 4, [false, 0]],
  ['plain HTTP: the rest is not read', {}, 16 * MIB + 1, [true, 4]],
  ['TLS, which would read it anyway', { encrypted: true }, 16 * MIB + 1, [false, 0]],
])('what arrives after the last answer is not parsed, over %s', async (_, fields, bytes, expected) => {
  const [socket, client] = duplexPair();
  let parsed = 0;
  Object.assign(socket, fields)
    .on('data', () => parsed++)
    .on('readable', () => socket.read());
  hangUp(socket);
  client.write('x'.repeat(bytes));
  await settled();
  client.write('more');
  await settled();
  expect([socket.isPaused(), socket.readableLength]).toStrictEqual(expected);
  expect(parsed).toBe(0);
});
