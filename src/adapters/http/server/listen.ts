import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { type AddressInfo, type Socket, Server as TcpServer } from 'node:net';
import type { RequestLog } from '../contract/request-log.ts';
import { SERVER_LIMITS, type ServerLimits } from './limits.ts';
import { type ClientError, refusalOf } from './broken-request.ts';
import { Connection } from './connection.ts';
import { createLimitedServer, type TlsPair } from './create-limited-server.ts';

/** The operating system may allow fewer. Node's default is 511. */
const MAX_WAITING_CONNECTIONS = 4096;

/** How often the memory is measured, and how often a drain closes idle connections. */
const INTERVAL_MS = 50;

const REQUESTS_PER_MEASUREMENT = 4_096;

/** The share of `maxHeldBytes` that may stay in use. */
const USED_SHARE_AFTER_CUT_OFF = 0.75;

/** How long a drain keeps idle connections open: see docs/explanation/a-drain.md. */
const IDLE_GRACE_MS = 500;

export type HttpServer = {
  /** The port in use. If the option is 0, the system chooses it. */
  readonly port: number;
  readonly isDraining: boolean;
  /**
   * Stops listening, answers every request in progress, and closes each connection after its last answer: see
   * docs/explanation/a-drain.md.
   *
   * @param timeoutMs the time after `acceptForMs` until `drain` cuts off the connections that are still open
   * @param acceptForMs how long `drain` accepts connections before it stops listening. Default: 0
   * @returns how many connections were cut off
   */
  drain(timeoutMs: number, acceptForMs?: number): Promise<number>;
  /**
   * Uses another certificate for new connections. Does nothing on a server without TLS.
   *
   * @throws {Error} if the pair is malformed. New connections then use the previous certificate
   */
  renewCertificate(pair: TlsPair): void;
};

type Connections = ReadonlyMap<Socket, Connection>;

export type ListenOptions = {
  readonly host: string;
  readonly port: number;
  readonly log: RequestLog;
  readonly tls?: TlsPair | undefined;
  readonly limits?: Partial<ServerLimits>;
};

/**
 * Serves HTTP/1.1, over TLS if there is a certificate.
 *
 * @throws {NodeJS.ErrnoException} if the address cannot be bound, such as `EADDRINUSE`
 * @throws {Error} if `tls` is malformed
 */
export async function listen(handle: RequestListener, options: ListenOptions): Promise<HttpServer> {
  const { host, port, log, tls } = options;
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const server = await createLimitedServer(limits, tls);
  const connections = new Map<Socket, Connection>();
  let newRequests = 0;
  const measure = () => cutOffGreatest(connections, limits.maxHeldBytes, log);
  const measureTimer = setInterval(measure, INTERVAL_MS).unref();
  server.once('close', () => clearInterval(measureTimer));
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    const connection = new Connection(socket, { handle, log });
    if (httpServer.isDraining) connection.announceEnd();
    connections.set(socket, connection);
    socket.once('close', () => connections.delete(socket));
  });
  const accept: RequestListener = (request, response) => {
    // Node may parse further requests of a connection that was cut off.
    if (request.socket.destroyed) return;
    connections.get(request.socket)!.accept(response);
    if (++newRequests % REQUESTS_PER_MEASUREMENT === 0) measure();
  };
  // Without these listeners, Node would answer `Expect` before any check: RFC 9110, section 10.1.1.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, accept);
  server.on('clientError', (error: ClientError, stream) => {
    const connection = connections.get(stream as Socket);
    // A TLS handshake begins with this byte: RFC 8446, section 5.1.
    if (connection?.latestResponse === undefined && error.rawPacket?.[0] === 0x16)
      log.connectionError({ kind: 'tls' });
    // The TLS handshake has failed, or the client has disconnected.
    if (connection === undefined || error.code === 'ECONNRESET') stream.destroy();
    else connection.refuse(refusalOf(error));
  });
  server.on('tlsClientError', ({ code: reason = 'unknown' }: ClientError) => {
    // The client has disconnected, as a health check of the TCP port does.
    if (reason === 'ECONNRESET') return;
    log.connectionError(
      reason === 'ERR_SSL_HTTP_REQUEST' ? { kind: 'not-tls' } : { kind: 'handshake', reason },
    );
  });
  server.on('drop', () => log.connectionError({ kind: 'refused' }));

  server.listen({ host, port, backlog: MAX_WAITING_CONNECTIONS });
  await once(server, 'listening');
  // From here on, an error means that a connection was not accepted. The server goes on.
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
 * Cuts off the connections that hold the most memory, if all together hold more than `maxHeldBytes`: see
 * docs/explanation/a-request.md.
 */
function cutOffGreatest(connections: Connections, maxHeldBytes: number, log: RequestLog): void {
  const usages = [...connections].map(([socket, { heldBytes }]) => ({ socket, heldBytes }));
  let remainingBytes = usages.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
  if (remainingBytes <= maxHeldBytes) return;
  for (const { socket, heldBytes } of usages.toSorted((a, b) => b.heldBytes - a.heldBytes)) {
    if (remainingBytes > maxHeldBytes * USED_SHARE_AFTER_CUT_OFF) socket.destroy();
    else setImmediate(() => socket.resume());
    socket.pause();
    remainingBytes -= heldBytes;
  }
  log.connectionError({ kind: 'cut-off' });
}

async function close(server: Server, connections: Connections, timeoutMs: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  // The `close` of the HTTP server would immediately close idle connections: see docs/explanation/a-drain.md.
  TcpServer.prototype.close.call(server, () => resolve(0));
  const graceEndsMs = performance.now() + IDLE_GRACE_MS;
  const findUnread = () => [...connections.keys()].filter(({ writableLength }) => writableLength > 0);
  const idleTimer = setInterval(() => {
    if (performance.now() >= graceEndsMs && findUnread().length === 0) server.closeIdleConnections();
  }, INTERVAL_MS);
  const cutOffTimer = setTimeout(() => {
    const unreadSockets = findUnread();
    server.closeIdleConnections();
    const openSockets = [...connections.keys()].filter(({ destroyed }) => !destroyed);
    // Closing an idle connection does not count as cutting it off.
    resolve(new Set([...unreadSockets, ...openSockets]).size);
    server.closeAllConnections();
  }, timeoutMs);
  const cutOffCount = await promise;
  clearInterval(idleTimer);
  clearTimeout(cutOffTimer);
  // Ends Node's check for late requests.
  server.close();
  return cutOffCount;
}
