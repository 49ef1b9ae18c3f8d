import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

export type LossyProxy = AsyncDisposable & {
  /** Its address, such as `http://127.0.0.1:40123`. */
  readonly url: string;
};

/**
 * A proxy on loopback that loses one answer: the first POST reaches the service, and then the connection to the client
 * closes. Everything else passes unchanged.
 */
export async function lossyProxy(service: string): Promise<LossyProxy> {
  const { hostname, port } = new URL(service);
  const open = new Set<Socket>();
  let hasLost = false;

  const server = createServer((client) => {
    const upstream = createConnection(Number(port), hostname);
    let isDoomed = false;
    for (const socket of [client, upstream]) {
      open.add(socket);
      // After an error, 'close' follows.
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (!hasLost && chunk.toString('latin1').startsWith('POST ')) {
        hasLost = true;
        isDoomed = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (isDoomed) client.destroy();
      else client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
