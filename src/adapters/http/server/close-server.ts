import type { Server } from 'node:http';
import { Server as TcpServer } from 'node:net';
import type { Connection } from './connection.ts';
import type { Connections } from './connections.ts';

/**
 * How long idle connections stay open at the beginning of a drain, in milliseconds. A request that is on its way over
 * one of them is still answered, with `Connection: close`.
 */
const IDLE_GRACE_MS = 500;

/** How often connections that have become idle are closed, in milliseconds. */
const SWEEP_INTERVAL_MS = 50;

/**
 * Accepts no new connections, lets every request in progress have its answer, and closes the connections after that.
 *
 * @param timeoutMs when to cut off the connections that are left, in milliseconds from now
 * @returns how many connections were cut off
 */
export async function closeServer(
  server: Server,
  connections: Connections,
  timeoutMs: number,
): Promise<number> {
  // The `close` of http.Server closes idle connections at once and stops checking for late requests. This one does not.
  const closed = new Promise<void>((resolve) => {
    TcpServer.prototype.close.call(server, () => resolve());
  });
  const graceEnds = performance.now() + IDLE_GRACE_MS;
  const sweep = setInterval(() => {
    if (performance.now() < graceEnds) return;
    // To Node, a connection is idle while its client still reads the answer. Closing it would cut the answer short.
    if (!connections.all().some(({ isBacklogged }) => isBacklogged)) server.closeIdleConnections();
  }, SWEEP_INTERVAL_MS);
  let cutOff = 0;
  const cut = (remaining: Iterable<Connection>) => {
    for (const { socket } of remaining) {
      if (socket.destroyed) continue;
      socket.destroy();
      cutOff++;
    }
  };
  const timer = setTimeout(() => {
    cut(connections.all().filter(({ isBacklogged }) => isBacklogged));
    // Closing an idle connection does not count as cutting it off.
    server.closeIdleConnections();
    cut(connections.all());
  }, timeoutMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
  // Stops Node's timer for late requests.
  server.close();
  return cutOff;
}
