import { EventEmitter } from 'node:events';
import type { Server } from 'node:https';
import { Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Handshakes } from '../../../../src/adapters/http/server/handshakes.ts';
import { settled } from '../../../support/memory-client.ts';
import { RecordingLog } from '../../../support/recording-log.ts';

/** The events of a TLS server. */
function start() {
  const server = new EventEmitter();
  const log = new RecordingLog();
  const handshakes = new Handshakes(server as Server, log);
  const from = (remotePort: number, remoteAddress = '192.0.2.1') =>
    Object.defineProperties(new Socket(), {
      remoteAddress: { value: remoteAddress },
      remotePort: { value: remotePort },
    });
  const connect = (port: number, address?: string) => {
    const socket = from(port, address);
    server.emit('connection', socket);
    return socket;
  };
  const fail = (code?: string) =>
    server.emit('tlsClientError', Object.assign(new Error('failed'), code === undefined ? {} : { code }));
  return { server, log, handshakes, from, connect, fail };
}

test('connections without a handshake are closed, and others are not', async () => {
  const { server, handshakes, from, connect } = start();
  const sockets = [connect(1), connect(2), connect(1, '192.0.2.2')];
  server.emit('secureConnection', from(1));
  handshakes.closeAll();
  expect(sockets.map(({ destroyed }) => destroyed)).toStrictEqual([false, true, true]);
});

test('a client that connects again from its address is another one', async () => {
  const { handshakes, connect } = start();
  const first = connect(1);
  first.destroy();
  const second = connect(1);
  await settled();
  handshakes.closeAll();
  expect(second.destroyed).toBe(true);
});

test('a connection that is gone is not kept', async () => {
  const { handshakes, connect } = start();
  const socket = connect(1);
  socket.destroy();
  await settled();
  const destroyed = vi.spyOn(socket, 'destroy');
  handshakes.closeAll();
  expect(destroyed).not.toHaveBeenCalled();
});

test('failures are counted with the code of the last one', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { log, fail } = start();
  for (const code of [undefined, 'A', 'ECONNRESET', 'B']) fail(code);
  vi.advanceTimersByTime(10_000);
  expect(log.troubles).toStrictEqual([
    { kind: 'handshake', connections: 1, reason: 'unknown' },
    { kind: 'handshake', connections: 2, reason: 'B' },
  ]);
});

test('a plain request is reported once', () => {
  const { log, fail } = start();
  for (let i = 0; i < 2; i++) {
    fail('ERR_SSL_HTTP_REQUEST');
    expect(log.troubles).toStrictEqual([{ kind: 'not-tls' }]);
  }
});
