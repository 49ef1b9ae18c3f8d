import type { IncomingMessage } from 'node:http';
import { hangUp } from './broken-request.ts';

/**
 * How much more of a body is taken, in bytes, when its request has been answered without it. It is thrown away, so
 * that the connection can go on.
 */
const REST_LIMIT = 1024 * 1024;

/** To be called when the request has its answer. */
export function limitUnreadBody(request: IncomingMessage): void {
  if (request.complete) return;
  const { socket } = request;
  let rest = 0;
  const count = (bytes: Buffer) => {
    rest += bytes.length;
    if (request.complete) socket.off('data', count);
    else if (rest > REST_LIMIT) {
      // Each of them would set the other going.
      request.pause();
      socket.pause();
      hangUp(socket);
    }
  };
  socket.on('data', count);
}
