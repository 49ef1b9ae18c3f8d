import type { Duplex } from 'node:stream';

/** How long a client may keep sending after its answer before the connection is destroyed, in milliseconds. */
const LINGER_MS = 1_000;

/**
 * Closes our side of the connection at once, and all of it a second later. Closing all of it while bytes of the client
 * are unread resets the connection, and a reset can destroy the answer before the client reads it.
 */
export function hangUp(socket: Duplex, lastWords?: string): void {
  if (socket.writableEnded) return;
  socket.end(lastWords);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
