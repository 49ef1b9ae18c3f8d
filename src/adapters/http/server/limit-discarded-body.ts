import type { IncomingMessage } from 'node:http';
import { hangUp } from './hang-up.ts';

/** How much of a body is read and discarded after the answer, in bytes, to keep the connection usable. */
const MAX_DISCARDED_BYTES = 1024 * 1024;

/**
 * Hangs up on a client that goes on sending a body after its request was answered without it. Node discards such a
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
      // Pause both: a request that flows resumes its socket, and the other way round.
      request.pause();
      socket.pause();
      hangUp(socket);
    }
  };
  socket.on('data', count);
}
