import type { Connections } from './connections.ts';
import type { LimitedServer } from './create-limited-server.ts';
import type { Handshakes } from './handshakes.ts';
import { stopAccepting } from './node-internals.ts';

/**
 * How long idle connections stay open at the beginning of a drain, in milliseconds. A request already on its way over
 * one of them still gets its answer, with `Connection: close`.
 */
const IDLE_GRACE_MS = 500;

/** How often connections that have become idle are closed, in milliseconds. */
const SWEEP_INTERVAL_MS = 50;

/**
 * Stops accepting connections, finishes every request in progress, and then closes the connections.
 *
 * @param handshakes those of a TLS server
 * @param timeoutMs when to cut off the connections that are left, in milliseconds from now
 * @returns how many connections were cut off
 */
export async function closeServer(
  server: LimitedServer,
  connections: Connections,
  handshakes: Handshakes | undefined,
  timeoutMs: number,
): Promise<number> {
  const closed = new Promise<void>((resolve) => stopAccepting(server, resolve));
  const graceEndsMs = performance.now() + IDLE_GRACE_MS;
  const sweep = setInterval(() => {
    if (performance.now() < graceEndsMs) return;
    handshakes?.closeAll();
    // To Node, a connection is idle while its client still reads the answer. Closing it would cut the answer short.
    if (!connections.all().some(({ isBacklogged }) => isBacklogged)) server.closeIdleConnections();
  }, SWEEP_INTERVAL_MS);
  let cutOff = 0;
  const timer = setTimeout(() => {
    const open = connections.all().toArray();
    const backlogged = new Set(open.filter(({ isBacklogged }) => isBacklogged));
    handshakes?.closeAll();
    server.closeIdleConnections();
    // Closing an idle connection does not count as cutting it off.
    const inUse = open.filter((connection) => backlogged.has(connection) || !connection.socket.destroyed);
    for (const { socket } of inUse) socket.destroy();
    cutOff = inUse.length;
  }, timeoutMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
  // Stops Node's timer for late requests.
  server.close();
  return cutOff;
}
