import type { Server } from 'node:http';
import { Server as TcpServer } from 'node:net';
import type { Connection } from './connection.ts';
import type { Connections } from './connections.ts';

/**
 * For how long a connection may stay idle at the beginning of a drain, in milliseconds: its next request may be on
 * the way, and is answered with `Connection: close`. Hanging up at once would lose it.
 */
const IDLE_GRACE = 500;

/** How often it is looked whether connections have fallen idle, in milliseconds. */
const SWEEP_INTERVAL = 50;

/**
 * Takes no new connection, lets every request in flight have its answer, and closes the connections behind them.
 *
 * @param deadline when the rest are cut off, in milliseconds from now
 * @returns how many those were
 */
export async function closeServer(
  server: Server,
  connections: Connections,
  deadline: number,
): Promise<number> {
  // To Node, an answer that is written is done, even while the client has yet to take it: closing what is idle
  // would cut it short. So it is only done while nobody is behind, and not by http.Server's own close, which does
  // it at once and looks after the timeouts no longer.
  const closed = new Promise<void>((resolve) => {
    TcpServer.prototype.close.call(server, () => resolve());
  });
  const graceEnds = performance.now() + IDLE_GRACE;
  const sweep = setInterval(() => {
    if (performance.now() < graceEnds) return;
    if (!connections.all().some(({ isBehind }) => isBehind)) server.closeIdleConnections();
  }, SWEEP_INTERVAL);
  let cutOff = 0;
  const cut = (stubborn: Iterable<Connection>) => {
    for (const { socket } of stubborn) {
      if (socket.destroyed) continue;
      socket.destroy();
      cutOff++;
    }
  };
  const timer = setTimeout(() => {
    cut(connections.all().filter(({ isBehind }) => isBehind));
    // Nobody is cut off who was only idle.
    server.closeIdleConnections();
    cut(connections.all());
  }, deadline);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
  // Ends the timer of its timeouts.
  server.close();
  return cutOff;
}
