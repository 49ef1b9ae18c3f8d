import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

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
export function setLast(response: ServerResponse, isTheLast: boolean): void {
  response.shouldKeepAlive = !isTheLast;
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
 * Takes the input away from Node's parser. It would parse requests after the last one, and keep 3 KiB for each of them.
 * Test: "after the last answer is not parsed" in hang-up.test.ts.
 */
export function stopParsing(socket: Duplex): void {
  socket.removeAllListeners('readable').removeAllListeners('data');
}

/**
 * A client may close its side once it has sent its request. Node would then hang up without an answer.
 * https://github.com/nodejs/node/pull/36819. Test: "a client that has ended its side gets its answer".
 */
export function allowHalfOpen(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true });
}

/**
 * Stops accepting connections, and calls `onClosed` when the last one has ended. The `close` of an HTTP server would
 * also close idle connections at once, and stop checking for late requests.
 * https://github.com/nodejs/node/issues/60617. Test: "leaves idle connections open for half a second".
 */
export function stopAccepting(server: Server, onClosed: () => void): void {
  TcpServer.prototype.close.call(server, onClosed);
}

/**
 * Makes the response to a CONNECT request, which ends the connection. Node has detached its parser from the socket and
 * makes none. What the response is given waits for the answer before it, as Node's own responses do: a socket takes one
 * response at a time. Test: "CONNECT" in listen.test.ts.
 *
 * @param earlier the response before it on the connection
 */
export function responseAfter(
  earlier: ServerResponse | undefined,
  request: IncomingMessage,
  socket: Duplex,
  onFinish: () => void,
): ServerResponse {
  const response = new ServerResponse(request);
  setLast(response, true);
  response.once('finish', () => {
    response.detachSocket(socket as Socket);
    response.emit('close');
    onFinish();
  });
  const begin = () => {
    if (socket.writable) response.assignSocket(socket as Socket);
  };
  if (earlier === undefined || earlier.closed) begin();
  else earlier.once('close', begin);
  return response;
}

/** How much is encrypted at a time, in bytes: what fits into one TLS record (RFC 8446, section 5.1). */
const PORTION_BYTES = 16 * 1024;

type Callback = (error?: Error | null) => void;
type Chunk = Buffer | string;
type Encoded = { readonly chunk: Chunk; readonly encoding: BufferEncoding };

/**
 * Makes a TLS socket write in small portions, each when the operating system has the one before. A TLS socket keeps the
 * memory that its largest portion took until it closes: 1.8 MB for the script of the page at `/docs`.
 * https://github.com/nodejs/node/pull/31499. Test: tls-memory.test.ts.
 */
export function writeInPortions(socket: TLSSocket): void {
  const write = socket._write.bind(socket);
  const writePortions = (bytes: Buffer, callback: Callback) => {
    const rest = bytes.subarray(PORTION_BYTES);
    write(bytes.subarray(0, PORTION_BYTES), 'buffer' as BufferEncoding, (error) => {
      if (error != null || rest.length === 0) callback(error);
      else writePortions(rest, callback);
    });
  };
  socket._write = (chunk: Chunk, encoding, callback) => writePortions(bytesOf({ chunk, encoding }), callback);
  // A header and its body leave together.
  socket._writev = (chunks: Encoded[], callback) =>
    writePortions(Buffer.concat(chunks.map((each) => bytesOf(each))), callback);
}

function bytesOf({ chunk, encoding }: Encoded): Buffer {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
}
