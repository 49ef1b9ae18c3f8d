import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { hangUp } from './hang-up.ts';
import { responseOn } from './node-internals.ts';

/**
 * Hands a CONNECT request to `onRequest` like any other, and closes the connection after its answer.
 *
 * @param earlier the response to the request before it on the same connection
 */
export function answerConnect(
  request: IncomingMessage,
  socket: Duplex,
  earlier: ServerResponse | undefined,
  onRequest: RequestListener,
): void {
  // Node no longer handles errors of this socket. Destroying it closes the response, which reaches the log.
  socket.on('error', () => request.socket.destroy());
  const answer = () => {
    if (socket.writable)
      onRequest(
        request,
        responseOn(socket, request, () => hangUp(socket)),
      );
  };
  // A socket takes one response at a time: `assignSocket` throws for a second one.
  if (earlier === undefined || earlier.closed) answer();
  else earlier.once('close', answer);
}
