import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { type AddressInfo, type Socket, Server as TcpServer } from 'node:net';
import type { RequestLog } from '../contract/request-log.ts';
import { SERVER_LIMITS, type ServerLimits } from './limits.ts';
import { type ClientError, refusalOf } from './broken-request.ts';
import { Connection } from './connection.ts';
import { createLimitedServer, type TlsPair } from './create-limited-server.ts';

/**
 * How many connections may wait to be accepted, if the operating system allows that many. Further clients retry after a
 * second. Node's default is 511.
 */
const BACKLOG_CONNECTIONS = 4096;

/** How often the memory of all connections is measured, and a drain closes idle ones, in milliseconds. */
const INTERVAL_MS = 50;

/** The most requests until the memory is measured again: one piece of input can hold thousands. They take 16 MiB. */
const MAX_UNMEASURED_REQUESTS = 4_096;

/** The share of the limit in use after a cut. A greater share would cause another cut after a few requests. */
const SHARE_AFTER_CUT = 0.75;

/** How long idle connections stay open in a drain: a request already on its way over one still gets its answer. */
const IDLE_GRACE_MS = 500;

export type HttpServer = {
  /** The port in use. For port 0 the system has chosen it. */
  readonly port: number;
  /** True from the first call of {@link drain} on. */
  readonly isDraining: boolean;
  /**
   * Stops accepting connections, finishes every request in progress, and closes each connection after its last answer.
   * Cuts off the connections that are still open after `timeoutMs` milliseconds.
   *
   * @param acceptForMs for how many milliseconds more it accepts connections and requests. Every answer then says
   *   already that it is the last on its connection. `timeoutMs` begins after that. 0 by default
   * @returns how many connections were cut off
   */
  drain(timeoutMs: number, acceptForMs?: number): Promise<number>;
  /**
   * Uses another certificate for new connections. Does nothing on a server without TLS.
   *
   * @throws {Error} if the pair is malformed. New connections then get the certificate from before
   */
  renewCertificate(pair: TlsPair): void;
};

type Connections = ReadonlyMap<Socket, Connection>;

export type ListenOptions = {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly log: RequestLog;
  /** Serves HTTPS with this certificate. Default: plain HTTP. */
  readonly tls?: TlsPair | undefined;
  /** Default: {@link SERVER_LIMITS}. */
  readonly limits?: Partial<ServerLimits>;
};

/**
 * Serves HTTP/1.1, over TLS if there is a certificate. `handle` gets the requests of each connection one at a time, in
 * their order.
 *
 * @throws {NodeJS.ErrnoException} if the address cannot be bound, such as `EADDRINUSE`
 * @throws {Error} if the pair of `tls` is malformed
 */
export async function listen(handle: RequestListener, options: ListenOptions): Promise<HttpServer> {
  const { host, port, log, tls } = options;
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const server = await createLimitedServer(limits, tls);
  const connections = new Map<Socket, Connection>();
  let newRequests = 0;
  const measure = () => cutOffGreatest(connections, limits.maxHeldBytes, log);
  const measuring = setInterval(measure, INTERVAL_MS).unref();
  server.once('close', () => clearInterval(measuring));
  // Without TLS, HTTP begins at once, otherwise after the handshake.
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    const connection = new Connection(socket, { handle, log });
    if (httpServer.isDraining) connection.announceEnd();
    connections.set(socket, connection);
    socket.once('close', () => connections.delete(socket));
  });
  const accept: RequestListener = (request, response) => {
    // Node goes on to parse a piece of input whose connection was cut off.
    if (request.socket.destroyed) return;
    connections.get(request.socket)!.accept(response);
    if (++newRequests % MAX_UNMEASURED_REQUESTS === 0) measure();
  };
  // Node would say 100 before anything of a request is checked, and answer 417 without a body to an unknown expectation,
  // which RFC 9110, section 10.1.1, allows a server to ignore.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, accept);
  server.on('clientError', (error: ClientError, stream) => {
    const connection = connections.get(stream as Socket);
    // The first byte of a TLS handshake: RFC 8446, section 5.1.
    if (connection?.latest === undefined && error.rawPacket?.[0] === 0x16)
      log.connectionError({ kind: 'tls' });
    // The TLS handshake has failed, or the client has left.
    if (connection === undefined || error.code === 'ECONNRESET') stream.destroy();
    else connection.refuse(refusalOf(error));
  });
  server.on('tlsClientError', ({ code: reason = 'unknown' }: ClientError) => {
    // The client has left, as health checks of the TCP port do.
    if (reason === 'ECONNRESET') return;
    log.connectionError(
      reason === 'ERR_SSL_HTTP_REQUEST' ? { kind: 'not-tls' } : { kind: 'handshake', reason },
    );
  });
  // Beyond `maxConnections`.
  server.on('drop', () => log.connectionError({ kind: 'refused' }));

  server.listen({ host, port, backlog: BACKLOG_CONNECTIONS });
  await once(server, 'listening');
  // The server keeps running when it cannot accept a connection.
  server.on('error', (error) => log.failed(error, undefined));
  const httpServer = {
    port: (server.address() as AddressInfo | null)?.port ?? port,
    isDraining: false,
    drain: async (timeoutMs: number, acceptForMs = 0) => {
      httpServer.isDraining = true;
      for (const connection of connections.values()) connection.announceEnd();
      await new Promise((resolve) => setTimeout(resolve, acceptForMs));
      return close(server, connections, timeoutMs);
    },
    renewCertificate: (pair: TlsPair) => tls && (server as TlsServer).setSecureContext(pair),
  };
  return httpServer;
}

/**
 * Cuts off the connections that hold the most memory, if all together hold more than the limit. Node frees the requests
 * of a connection at the end of this iteration of the event loop, and goes on to parse its piece of input, which can hold
 * thousands of them. No other piece is parsed meanwhile.
 */
function cutOffGreatest(connections: Connections, maxHeldBytes: number, log: RequestLog): void {
  const held = [...connections].map(([socket, { heldBytes }]) => ({ socket, heldBytes }));
  let leftBytes = held.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
  if (leftBytes <= maxHeldBytes) return;
  for (const { socket, heldBytes } of held.toSorted((a, b) => b.heldBytes - a.heldBytes)) {
    if (leftBytes > maxHeldBytes * SHARE_AFTER_CUT) socket.destroy();
    else setImmediate(() => socket.resume());
    socket.pause();
    leftBytes -= heldBytes;
  }
  log.connectionError({ kind: 'cut-off' });
}

/**
 * Does what {@link HttpServer.drain} says. TLS handshakes in progress may end. Those that are left at the end meet their
 * time limit: Node does not tell of their sockets.
 */
async function close(server: Server, connections: Connections, timeoutMs: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  // Only stops listening. The `close` of an HTTP server would also close idle connections, over which a request may be on
  // its way. To Node, a connection is idle while its client still reads the answer, too:
  // https://github.com/nodejs/node/issues/60617
  TcpServer.prototype.close.call(server, () => resolve(0));
  const graceEndsMs = performance.now() + IDLE_GRACE_MS;
  const unread = () => [...connections.keys()].filter(({ writableLength }) => writableLength > 0);
  const sweep = setInterval(() => {
    if (performance.now() >= graceEndsMs && unread().length === 0) server.closeIdleConnections();
  }, INTERVAL_MS);
  const timer = setTimeout(() => {
    const unreadAtEnd = unread();
    server.closeIdleConnections();
    const open = [...connections.keys()].filter(({ destroyed }) => !destroyed);
    // Closing an idle connection does not count as cutting it off.
    resolve(new Set([...unreadAtEnd, ...open]).size);
    server.closeAllConnections();
  }, timeoutMs);
  const cutOff = await promise;
  clearInterval(sweep);
  clearTimeout(timer);
  // Ends Node's check for late requests.
  server.close();
  return cutOff;
}
