import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { hangUp } from './hang-up.ts';

/**
 * Hands a CONNECT request to `onRequest` like any other, and closes the connection after its answer. Node has detached
 * its parser from the socket and makes no response for CONNECT.
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
    if (!socket.writable) return;
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.once('finish', () => {
      response.detachSocket(socket as Socket);
      response.emit('close');
      hangUp(socket);
    });
    onRequest(request, response);
  };
  // A socket takes one response at a time: `assignSocket` throws for a second one.
  if (earlier === undefined || earlier.closed) answer();
  else earlier.once('close', answer);
}
