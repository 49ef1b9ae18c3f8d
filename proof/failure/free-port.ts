import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ephemeral port range (32768 and up on Linux). Outgoing connections could take a port of that range while
// its server is down, even the connection of a client that tries to reach the server.
const FIRST = 20_000;
const COUNT = 10_000;

const given = new Set<number>();

/** A port on loopback that a server can reuse after it was killed. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
  } finally {
    server.close();
  }
}
