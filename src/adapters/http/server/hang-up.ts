import type { Duplex } from 'node:stream';

/** How long a client may keep sending after its answer before the connection is destroyed, in milliseconds. */
const LINGER_MS = 1_000;

/**
 * Closes our side of the connection when everything is written, and all of it a second later. Closing all of it while
 * bytes of the client are unread resets the connection, and a reset can destroy the answer before the client reads it.
 */
export function hangUp(socket: Duplex, text?: string): void {
  if (socket.writableEnded) return;
  socket.end(text);
  // See `destroyLater`. What arrives is dropped.
  if ('encrypted' in socket) socket.resume();
  // Not before: a slow client still reads. One that never reads meets the idle timeout.
  socket.once('finish', () => destroyLater(socket));
}

/**
 * Closes all of the connection in a second. For a TLS socket that must stay paused: once its own side has ended, it
 * reads on and keeps everything in memory. That was 400 MB within that second in Node 26.10.
 */
export function destroyLater(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
