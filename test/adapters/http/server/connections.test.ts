import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Connections } from '../../../../src/adapters/http/server/connections.ts';
import { createLimitedServer } from '../../../../src/adapters/http/server/create-limited-server.ts';
import { SERVER_LIMITS } from '../../../../src/adapters/http/server/limits.ts';
import { settled } from '../../../support/memory-client.ts';

test('a connection is forgotten once it is closed', async () => {
  const server = await createLimitedServer(SERVER_LIMITS, undefined);
  const connections = new Connections({ handle: () => {}, maxHeldBytes: Infinity, onCutOff: () => {} });
  const [socket] = duplexPair();
  server.emit('connection', socket);
  connections.add(socket as Socket);
  expect(connections.all().toArray()).toStrictEqual([connections.of(socket)]);
  socket.destroy();
  await settled();
  expect([connections.all().toArray(), connections.of(socket)]).toStrictEqual([[], undefined]);
});

test('one task runs in each iteration of the event loop, in turn', () => {
  vi.useFakeTimers({ toFake: ['setImmediate'] });
  onTestFinished(() => void vi.useRealTimers());
  const { takeTurn } = new Connections({ handle: () => {}, maxHeldBytes: Infinity, onCutOff: () => {} });
  const done: string[] = [];
  const [a, b] = ['a', 'b'].map((name) => () => void done.push(name));
  const bug = () => {
    throw new Error('a bug');
  };
  for (const task of [a!, bug, b!, a!]) takeTurn(task);
  vi.advanceTimersToNextTimer();
  expect(done).toStrictEqual(['a']);
  expect(() => vi.advanceTimersToNextTimer()).toThrow('a bug');
  takeTurn(a!);
  vi.advanceTimersToNextTimer();
  expect(done).toStrictEqual(['a', 'b']);
  vi.advanceTimersToNextTimer();
  // Without a task, the event loop may sleep.
  expect([done, vi.getTimerCount()]).toStrictEqual([['a', 'b', 'a'], 0]);
});
