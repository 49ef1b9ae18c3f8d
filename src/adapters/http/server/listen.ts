import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestLog } from '../contract/request-log.ts';
import { SERVER_LIMITS, type ServerLimits } from './limits.ts';
import { Answer } from './answer.ts';
import { type ClientError, refusalOf } from './broken-request.ts';
import { closeServer } from './close-server.ts';
import { Connections } from './connections.ts';
import { createLimitedServer, type LimitedServer, type TlsPair } from './create-limited-server.ts';
import { throttleCounts } from './throttle-counts.ts';

/**
 * How many connections may wait to be accepted, if the operating system allows that many. Further clients retry after a
 * second. Node's default is 511.
 */
const BACKLOG_CONNECTIONS = 4096;

/** How often a reason for failed handshakes is reported, in milliseconds. */
const HANDSHAKE_REPORT_MS = 60_000;

/** The first byte of a TLS handshake: RFC 8446, section 5.1. */
const TLS_HANDSHAKE = 0x16;

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
  const connections = new Connections({
    handle: (request, answer) => {
      if (!answer.headersSent) return handle(request, answer);
      // A broken request is answered before its turn.
      const requestId = String(answer.getHeader('X-Request-Id'));
      // Not a forwarded address: the headers may be those of a request that a client has smuggled past its proxy.
      const client = request.socket.remoteAddress;
      log.answered({ requestId, method: request.method ?? undefined, status: answer.statusCode, client });
    },
    maxHeldBytes: limits.maxHeldBytes,
    onCutOff: throttleCounts((count) => log.connectionTrouble({ kind: 'cut-off', connections: count })),
  });
  dispatch(server, connections, log);
  const tlsServer = 'setSecureContext' in server ? server : undefined;
  tlsServer?.on('tlsClientError', handshakeReports(log));

  server.listen({ host, port, backlog: BACKLOG_CONNECTIONS });
  await once(server, 'listening');
  // The server keeps running when it cannot accept a connection.
  server.on('error', (error) => log.failed(error, undefined));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    get isDraining() {
      return connections.isDraining;
    },
    drain: async (timeoutMs, acceptForMs = 0) => {
      connections.isDraining = true;
      if (acceptForMs > 0) await new Promise((resolve) => setTimeout(resolve, acceptForMs));
      return closeServer(server, connections, timeoutMs);
    },
    renewCertificate: (pair) => tlsServer?.setSecureContext(pair),
  };
}

/** Hands each event of Node's server to the connection that it belongs to. */
function dispatch(server: LimitedServer, connections: Connections, log: RequestLog): void {
  const onRequest = (request: IncomingMessage, answer: Answer) =>
    connections.of(request.socket)?.accept(answer);
  // Without TLS, Node's HTTP server takes over a socket at once, otherwise after the handshake.
  const begin = 'setSecureContext' in server ? 'secureConnection' : 'connection';
  server.on(begin, (socket: Socket) => connections.add(socket));
  server.on('connection', (socket: Socket) => connections.addTcp(socket));
  server.on('request', onRequest);
  // Node would answer 417 without a body. RFC 9110, section 10.1.1, allows a server to ignore unknown expectations.
  server.on('checkExpectation', onRequest);
  // Node would hang up. The service is not a proxy: CONNECT is a method like any other.
  server.on('connect', (request, stream) => {
    const { socket } = request;
    // Node no longer handles these events of the socket. Destroying it closes the answer, which reaches the log.
    stream.on('error', () => socket.destroy());
    socket.on('timeout', () => socket.destroy());
    // A body would wait in it.
    stream.resume();
    onRequest(request, new Answer(request));
    connections.of(socket)!.isStopped = true;
  });
  let hasSeenTls = false;
  server.on('clientError', (error: ClientError, socket) => {
    const connection = connections.of(socket);
    // The TLS handshake has failed.
    if (connection === undefined) {
      socket.destroy();
      return;
    }
    if (!hasSeenTls && connection.latest === undefined && error.rawPacket?.[0] === TLS_HANDSHAKE) {
      hasSeenTls = true;
      log.connectionTrouble({ kind: 'tls' });
    }
    if (connection.isStopped) return;
    connection.refuse(refusalOf(error));
  });
  // Beyond `maxConnections`.
  const onRefused = throttleCounts((count) => log.connectionTrouble({ kind: 'refused', connections: count }));
  server.on('drop', () => onRefused(1));
}

/** Reports each reason for which TLS handshakes fail, once a minute at most. */
function handshakeReports(log: Pick<RequestLog, 'connectionTrouble'>): (error: ClientError) => void {
  const reportedMs = new Map<string, number>();
  return ({ code = 'unknown' }) => {
    // The client has left, as health checks of the TCP port do.
    if (code === 'ECONNRESET') return;
    const nowMs = performance.now();
    if (nowMs - (reportedMs.get(code) ?? -Infinity) < HANDSHAKE_REPORT_MS) return;
    reportedMs.set(code, nowMs);
    log.connectionTrouble(
      code === 'ERR_SSL_HTTP_REQUEST' ? { kind: 'not-tls' } : { kind: 'handshake', reason: code },
    );
  };
}
