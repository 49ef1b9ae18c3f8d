import type { Connections } from './connections.ts';
import type { LimitedServer } from './create-limited-server.ts';
import { stopAccepting } from './node-internals.ts';

/** How often connections that have become idle are closed, in milliseconds. */
const SWEEP_INTERVAL_MS = 50;

/**
 * Stops accepting connections, finishes every request in progress, and then closes the connections. A TLS handshake in
 * progress may end, or meet its time limit.
 *
 * @param timeoutMs when to cut off the connections that are left, in milliseconds from now
 * @returns how many connections were cut off
 */
export async function closeServer(
  server: LimitedServer,
  connections: Connections,
  timeoutMs: number,
): Promise<number> {
  const closed = new Promise<void>((resolve) => stopAccepting(server, resolve));
  const sweep = setInterval(() => {
    // To Node, a connection is idle while its client still reads the answer. Closing it would cut the answer short.
    if (!connections.all().some(({ isBacklogged }) => isBacklogged)) server.closeIdleConnections();
  }, SWEEP_INTERVAL_MS);
  let cutOff = 0;
  const timer = setTimeout(() => {
    const open = connections.all().toArray();
    const backlogged = new Set(open.filter(({ isBacklogged }) => isBacklogged));
    server.closeIdleConnections();
    // Closing an idle connection does not count as cutting it off, nor does ending a handshake.
    cutOff = open.filter((connection) => backlogged.has(connection) || !connection.socket.destroyed).length;
    for (const socket of connections.tcpSockets) socket.destroy();
  }, timeoutMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
  // Stops Node's timer for late requests.
  server.close();
  return cutOff;
}
