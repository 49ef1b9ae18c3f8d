import { once } from 'node:events';
import { createServer } from 'node:net';

// Linux takes the ports of outgoing connections from the range that begins at 32768. The ports here are smaller. If a
// server had a port from that range, an outgoing connection could take the port while the server is down, and the server
// could not start again. Even the connection of a client of this server could take the port.
const FIRST_PORT = 20_000;
const PORT_COUNT = 10_000;

const assignedPorts = new Set<number>();

/** Returns a free port on 127.0.0.1, on which a server can start again after it was killed. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORT_COUNT);
    if (assignedPorts.has(port) || !(await isFree(port))) continue;
    assignedPorts.add(port);
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
