import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Connections } from '../../../../src/adapters/http/server/connections.ts';
import { createLimitedServer } from '../../../../src/adapters/http/server/create-limited-server.ts';
import { SERVER_LIMITS } from '../../../../src/adapters/http/server/limits.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { settled } from '../../../support/memory-client.ts';
import { get, post, start } from './in-memory-server.ts';

test('a connection is forgotten once it is closed', async () => {
  const server = await createLimitedServer(SERVER_LIMITS, undefined);
  const connections = new Connections({ handle: () => {}, maxHeldBytes: Infinity, onCutOff: () => {} });
  const [socket] = duplexPair();
  server.emit('connection', socket);
  connections.addTcp(socket as Socket);
  connections.add(socket as Socket);
  expect(connections.all().toArray()).toStrictEqual([connections.of(socket)]);
  socket.destroy();
  await settled();
  expect([connections.all().toArray(), connections.of(socket)]).toStrictEqual([[], undefined]);
  expect(connections.tcpSockets.size).toBe(0);
});

test('one task runs in each iteration of the event loop, in turn', () => {
  vi.useFakeTimers({ toFake: ['setImmediate'] });
  onTestFinished(() => void vi.useRealTimers());
  const { runInTurn } = new Connections({ handle: () => {}, maxHeldBytes: Infinity, onCutOff: () => {} });
  const done: string[] = [];
  const [a, b] = ['a', 'b'].map((name) => () => void done.push(name));
  const bug = () => {
    throw new Error('a bug');
  };
  for (const task of [a!, bug, b!, a!]) runInTurn(task);
  vi.advanceTimersToNextTimer();
  expect(done).toStrictEqual(['a']);
  expect(() => vi.advanceTimersToNextTimer()).toThrow('a bug');
  runInTurn(a!);
  vi.advanceTimersToNextTimer();
  expect(done).toStrictEqual(['a', 'b']);
  vi.advanceTimersToNextTimer();
  // Without a task, the event loop may sleep.
  expect([done, vi.getTimerCount()]).toStrictEqual([['a', 'b', 'a'], 0]);
});

test('memory beyond the limit costs those that hold the most their connections', async () => {
  const { advance } = fakeClock('setTimeout', 'clearTimeout');
  const { connect, log } = await start({ maxHeldBytes: 10_000 });
  const lengths = [1_800, 2_300, 1_700, 2_400, 1_800];
  const clients = lengths.map(() => connect());
  const open = () => clients.map(({ server }) => !server.destroyed);
  for (const [index, length] of lengths.entries()) {
    await clients[index]!.send(post(`Content-Length: ${length}\r\n`));
  }
  advance(50);
  // Exactly the limit.
  expect(open()).toStrictEqual([true, true, true, true, true]);
  const another = connect();
  await another.send(post('Content-Length: 2200\r\n'));
  advance(49);
  expect(open()).toStrictEqual([true, true, true, true, true]);
  advance(1);
  // Exactly three quarters of the limit are left.
  expect(open()).toStrictEqual([true, false, true, false, true]);
  expect(log.troubles).toStrictEqual([{ kind: 'cut-off' }]);
  expect(another.server.destroyed).toBe(false);
});

test('memory is measured until nothing is in progress', async () => {
  const { advance } = fakeClock('setTimeout', 'clearTimeout');
  const { connect, log, answer } = await start({ maxHeldBytes: 10_000 });
  // The first and the last stay idle.
  const [, client, other] = [connect(), connect(), connect(), connect()];
  await client.send(get('/1'));
  await other.send(get('/2'));
  expect(vi.getTimerCount()).toBe(1);
  advance(5_000);
  expect(vi.getTimerCount()).toBe(1);
  await answer();
  await answer();
  advance(50);
  expect(vi.getTimerCount()).toBe(0);
  await client.send(post('Content-Length: 20000\r\n'));
  advance(50);
  expect(log.troubles).toStrictEqual([{ kind: 'cut-off' }]);
  expect([client.server.destroyed, other.server.destroyed]).toStrictEqual([true, false]);
});
