import { beforeEach, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../../../src/adapters/http/server/listen.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { settled } from '../../../support/memory-client.ts';
import { CONNECT, get, start } from './in-memory-server.ts';

/** Longer than any drain here takes. */
const TIMEOUT_MS = 10_000;

/** Lets time pass, and everything happen that follows. */
const pass = async (ms: number) => {
  vi.advanceTimersByTime(ms);
  await settled();
};
/** Begins a drain. */
const drain = (server: HttpServer, timeoutMs: number, acceptForMs = 0) => {
  const ended = vi.fn<(cutOff: number) => void>();
  void server.drain(timeoutMs, acceptForMs).then(ended);
  return ended;
};
beforeEach(() => void fakeClock('setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'));

test('a drain closes idle connections after half a second, and each other one after its answer', async () => {
  const { connect, server, answer } = await start();
  const [fresh, used, busy] = [connect(), connect(), connect()];
  for (const client of [used, busy]) {
    await client.send(get('/'));
    await answer();
  }
  expect(server.isDraining).toBe(false);
  const ended = drain(server, TIMEOUT_MS);
  expect(server.isDraining).toBe(true);
  await busy.send(get('/'));
  await answer();
  expect(busy.announced).toStrictEqual(['keep-alive', 'close']);
  busy.socket.end();
  await pass(450);
  expect([fresh.server.destroyed, used.server.destroyed]).toStrictEqual([false, false]);
  await pass(100);
  expect(busy.server.destroyed).toBe(true);
  expect([fresh.server.destroyed, used.server.destroyed]).toStrictEqual([true, true]);
  expect(ended).toHaveBeenCalledExactlyOnceWith(0);
  expect(vi.getTimerCount()).toBe(0);
});

test('a drain waits for answers, and for clients that still read', async () => {
  const { connect, server, responses } = await start();
  const [slow, idle, begun] = [connect(), connect(), connect()];
  slow.socket.pause();
  await slow.send(get('/'));
  await begun.send('GET / HTTP');
  const ended = drain(server, TIMEOUT_MS);
  await pass(5_000);
  expect(ended).not.toHaveBeenCalled();
  expect(idle.server.destroyed).toBe(true);
  await begun.send('/1.1\r\nHost: x\r\n\r\n');
  for (const response of responses) response.end('x'.repeat(200_000));
  await pass(1_000);
  const late = connect();
  await pass(1_000);
  // Node takes the slow one for idle.
  expect([late.server.destroyed, slow.server.destroyed]).toStrictEqual([false, false]);
  slow.socket.resume();
  await settled();
  expect([slow.announced, slow.text.length > 200_000]).toStrictEqual([['close'], true]);
  expect([begun.announced, begun.hasEnded]).toStrictEqual([['close'], true]);
  await pass(1_050);
  expect(ended).toHaveBeenCalledExactlyOnceWith(0);
});

test('a drain does not wait for a client that left without its answer, or whose CONNECT was answered', async () => {
  const { connect, server, answer } = await start();
  const [gone, tunnel, idle] = [connect(), connect(), connect()];
  gone.socket.pause();
  await gone.send(get('/'));
  await answer('x'.repeat(200_000));
  gone.server.destroy();
  await tunnel.send(CONNECT);
  await answer();
  const ended = drain(server, TIMEOUT_MS);
  await pass(550);
  expect(idle.server.destroyed).toBe(true);
  await pass(950);
  expect(ended).toHaveBeenCalledExactlyOnceWith(0);
});

test('a drain cuts off what is left at its timeout, and counts only what was in use', async () => {
  const { connect, server, responses } = await start();
  const [idle, waiting, slow, halfway, tunnel] = [connect(), connect(), connect(), connect(), connect()];
  slow.socket.pause();
  await slow.send(get('/slow'));
  await waiting.send(get('/waiting'));
  await halfway.send('GET /');
  await tunnel.send(CONNECT);
  responses[0]!.end('x'.repeat(200_000));
  await settled();
  const ended = drain(server, 400);
  await pass(399);
  expect(ended).not.toHaveBeenCalled();
  await pass(1);
  expect(ended).toHaveBeenCalledExactlyOnceWith(4);
  for (const { server: socket } of [idle, waiting, slow, halfway, tunnel])
    expect(socket.destroyed).toBe(true);
});

test('a drain begins to close after the time in which it still accepts, and makes each answer the last meanwhile', async () => {
  const { connect, server, answer } = await start();
  const old = connect();
  const ended = drain(server, TIMEOUT_MS, 2_000);
  await pass(1_000);
  for (const client of [old, connect()]) {
    await client.send(get('/'));
    await answer();
    expect(client.announced).toStrictEqual(['close']);
    client.socket.end();
  }
  await pass(999);
  expect(ended).not.toHaveBeenCalled();
  await pass(1);
  expect(ended).toHaveBeenCalledExactlyOnceWith(0);
});
