import type { Duplex } from 'node:stream';
import { stopParsing } from './node-internals.ts';

/** How much is read and dropped meanwhile, in bytes. A longer URL is not answered. */
const MAX_DROPPED_BYTES = 16 * 1024 * 1024;

/** How long a client may keep sending after its answer before the connection is destroyed, in milliseconds. */
const LINGER_MS = 1_000;

/**
 * Closes our side of the connection when everything is written, and all of it a second later: RFC 9112, section 9.6.
 * Closing all of it while bytes of the client are unread resets the connection, and a reset can destroy the answer
 * before the client reads it. What arrives meanwhile is dropped.
 */
export function hangUp(socket: Duplex, text?: string): void {
  if (socket.writableEnded) return;
  socket.end(text);
  stopParsing(socket);
  let droppedBytes = 0;
  socket.on('data', (bytes: Buffer) => {
    droppedBytes += bytes.length;
    // See `destroyLater`.
    if (droppedBytes > MAX_DROPPED_BYTES && !isTls(socket)) socket.pause();
  });
  socket.resume();
  // Not before: a slow client still reads. One that never reads meets the idle timeout.
  socket.once('finish', () => destroyLater(socket));
}

/** Does the same for a client whose answer is out, but leaves what it keeps sending with the operating system. */
export function hangUpUnread(socket: Duplex): void {
  if (!isTls(socket)) socket.end();
  destroyLater(socket);
}

/**
 * Closes all of the connection in a second. A TLS socket must not be paused once its own side has ended: it reads on and
 * keeps everything in memory. That was 400 MB within that second in Node 26.10.
 */
function destroyLater(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

function isTls(socket: Duplex): boolean {
  return 'encrypted' in socket;
}
