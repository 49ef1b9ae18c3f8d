import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { expect, test } from 'vitest';
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
