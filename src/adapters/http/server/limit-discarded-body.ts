import type { IncomingMessage } from 'node:http';
import { MAX_DISCARDED_BYTES } from './limits.ts';
import { destroyLater, hangUp } from './hang-up.ts';

/**
 * Hangs up on a client that keeps sending a body after its request was answered without it. Node discards such a
 * body, but without a limit. Call it when the answer is out.
 */
export function limitDiscardedBody(request: IncomingMessage): void {
  if (request.complete) return;
  const { socket } = request;
  let discardedBytes = 0;
  const count = (bytes: Buffer) => {
    discardedBytes += bytes.length;
    if (request.complete) socket.off('data', count);
    else if (discardedBytes > MAX_DISCARDED_BYTES) {
      // Both must be paused: a flowing request resumes its socket, and vice versa.
      request.pause();
      socket.pause();
      if ('encrypted' in socket) destroyLater(socket);
      else hangUp(socket);
    }
  };
  socket.on('data', count);
}
