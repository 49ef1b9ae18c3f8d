import type { ServerResponse } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';

/*
 * All that the HTTP server needs of Node beyond its documentation, as tried on Node 26.10. The tests that are named here
 * fail when Node changes it.
 */

/**
 * Whether the answer announces the end of the connection, because the client or {@link setLast} wants it. Node's types
 * have `shouldKeepAlive`. The documented way, a header that is set before `writeHead`, makes Node merge the headers of
 * each answer. Test: "requests on a connection" in connection.test.ts.
 */
export function isLast(response: ServerResponse): boolean {
  return !response.shouldKeepAlive;
}

/** Before the headers of the response are sent. */
export function setLast(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

/**
 * Calls `close` instead of Node after the last answer. Node would close all of the connection at once, which resets it
 * if the client has sent more. Of 240 clients that kept sending, all lost answers.
 * https://github.com/nodejs/node/pull/36205. Test: "a client that keeps sending after the last answer".
 */
export function replaceClose(socket: Socket, close: () => void): void {
  socket.destroySoon = close;
}

/**
 * A client may close its side once it has sent its request. Node would then hang up without an answer.
 * https://github.com/nodejs/node/pull/36819. Test: "a client that has ended its side gets its answer".
 */
export function allowHalfOpen(server: TcpServer): void {
  Object.assign(server, { httpAllowHalfOpen: true });
}

/**
 * Stops accepting connections, and calls `onClosed` when the last one has ended. The `close` of an HTTP server would
 * also close connections whose client still reads its answer, and stop checking for late requests.
 * https://github.com/nodejs/node/issues/60617. Test: "waits for answers, and for clients that still read" in
 * close-server.test.ts.
 */
export function stopAccepting(server: TcpServer, onClosed: () => void): void {
  TcpServer.prototype.close.call(server, onClosed);
}

/**
 * Ends Node's parser: an error of a listener of `request` passes through it to the caller of `socket.read()`. Further
 * input only repeats an error of the parser. Otherwise it would go on to the end of a piece of input, and keep all
 * requests in it: 7.5 MB for 64 KiB of the shortest.
 * https://github.com/nodejs/node/pull/31801. Test: "beyond eight are not parsed" in connection.test.ts.
 */
export function endParsing(): never {
  throw new Error('nothing after the last request is parsed');
}

/**
 * Gives the socket to an answer that Node has not made: to a CONNECT request, for which Node offers the bare socket
 * (https://nodejs.org/api/http.html#event-connect), or to input that is no request. It ends the connection.
 * Tests: "CONNECT" and "input that is not a request" in listen.test.ts.
 */
export function attach(answer: ServerResponse): void {
  const { socket } = answer.req;
  setLast(answer);
  answer.once('finish', () => {
    answer.detachSocket(socket);
    answer.emit('close');
    socket.destroySoon();
  });
  answer.assignSocket(socket);
}
