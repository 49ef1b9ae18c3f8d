import { once } from 'node:events';
import { createServer, connect, type TLSSocket } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { writeInPortions } from '../../../../src/adapters/http/server/node-internals.ts';
import { PAIR, ROOT_CERT } from '../../../support/tls/pem-files.ts';

const LARGE = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 251));

/** Both ends of a TLS connection. The server's end writes in portions, whose lengths are recorded. */
async function ends() {
  const server = createServer({ ...PAIR }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>;
  const client = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, ca: ROOT_CERT });
  onTestFinished(() => void client.destroy());
  const [socket] = await accepted;
  const portions: number[] = [];
  const { _write: write, _writev: writev } = socket;
  socket._write = (chunk: Buffer | string, encoding, callback) => {
    portions.push(chunk.length);
    write.call(socket, chunk, encoding, callback);
  };
  socket._writev = (chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], callback) => {
    portions.push(chunks.reduce((sum, { chunk }) => sum + chunk.length, 0));
    writev?.call(socket, chunks, callback);
  };
  writeInPortions(socket);
  return { socket, client, portions };
}

test.each<[string, readonly (string | Buffer)[], readonly number[]]>([
  ['a short text', ['Rex 🐕'], [8]],
  ['a short header and body together', ['header', Buffer.from('body')], [10]],
  ['a long buffer', [LARGE], [16_384, 16_384, 16_384, 16_384, 16_384, 16_384, 1696]],
  ['a long text', ['🐕'.repeat(10_000)], [16_384, 16_384, 7232]],
  ['a header and a long body', ['header', LARGE], [16_384, 16_384, 16_384, 16_384, 16_384, 16_384, 1702]],
])('%s arrives as it was written', async (_, chunks, expected) => {
  const { socket, client, portions } = await ends();
  const received = client.toArray();
  socket.cork();
  for (const chunk of chunks) socket.write(chunk);
  socket.uncork();
  socket.end();
  expect(Buffer.concat(await received)).toStrictEqual(
    Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))),
  );
  expect(portions).toStrictEqual(expected);
});

test('a client that leaves in the middle ends the writing', async () => {
  const { socket, client } = await ends();
  socket.on('error', () => {});
  client.pause();
  const written = new Promise((resolve) => void socket.write(Buffer.alloc(50_000_000), resolve));
  client.destroy();
  expect(await written).toBeInstanceOf(Error);
});
