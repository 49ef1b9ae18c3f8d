import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { RequestLog } from '../contract/request-log.ts';
import { SERVER_LIMITS, type ServerLimits } from './limits.ts';
import { Answer } from './answer.ts';
import { type ClientError, refusalOf } from './broken-request.ts';
import { Connections } from './connections.ts';
import { createLimitedServer, type LimitedServer, type TlsPair } from './create-limited-server.ts';
import { stopAccepting } from './node-internals.ts';

/**
 * How many connections may wait to be accepted, if the operating system allows that many. Further clients retry after a
 * second. Node's default is 511.
 */
const BACKLOG_CONNECTIONS = 4096;

const MINUTE_MS = 60_000;

/** The first byte of a TLS handshake: RFC 8446, section 5.1. */
const TLS_HANDSHAKE = 0x16;

/** How often connections that have become idle are closed, in milliseconds. */
const SWEEP_INTERVAL_MS = 50;

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

type Report = RequestLog['connectionTrouble'];

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
  const report = oncePerMinute((trouble) => log.connectionTrouble(trouble));
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
    onCutOff: () => report({ kind: 'cut-off' }),
  });
  dispatch(server, connections, report);
  const tlsServer = 'setSecureContext' in server ? server : undefined;
  tlsServer?.on('tlsClientError', ({ code: reason = 'unknown' }: ClientError) => {
    // The client has left, as health checks of the TCP port do.
    if (reason === 'ECONNRESET') return;
    report(reason === 'ERR_SSL_HTTP_REQUEST' ? { kind: 'not-tls' } : { kind: 'handshake', reason });
  });

  server.listen({ host, port, backlog: BACKLOG_CONNECTIONS });
  await once(server, 'listening');
  // The server keeps running when it cannot accept a connection.
  server.on('error', (error) => log.failed(error, undefined));
  return {
    port: (server.address() as AddressInfo | null)?.port ?? port,
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
function dispatch(server: LimitedServer, connections: Connections, report: Report): void {
  const onRequest = (request: IncomingMessage, answer: Answer) =>
    connections.of(request.socket)?.accept(answer);
  // Without TLS, Node's HTTP server takes over a socket at once, otherwise after the handshake.
  const begin = 'setSecureContext' in server ? 'secureConnection' : 'connection';
  server.on(begin, (socket: Socket) => connections.add(socket));
  server.on('connection', (socket: Socket) => connections.addTcp(socket));
  server.on('request', onRequest);
  // Node would say 100 before anything of the request is checked.
  server.on('checkContinue', onRequest);
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
  server.on('clientError', (error: ClientError, socket) => {
    const connection = connections.of(socket);
    // The TLS handshake has failed.
    if (connection === undefined) {
      socket.destroy();
      return;
    }
    if (connection.latest === undefined && error.rawPacket?.[0] === TLS_HANDSHAKE) report({ kind: 'tls' });
    if (connection.isStopped) return;
    connection.refuse(refusalOf(error));
  });
  // Beyond `maxConnections`.
  server.on('drop', () => report({ kind: 'refused' }));
}

/** Does what {@link HttpServer.drain} says. A TLS handshake in progress may end, or meet its time limit. */
async function closeServer(server: LimitedServer, connections: Connections, timeoutMs: number) {
  const closed = new Promise<void>((resolve) => stopAccepting(server, resolve));
  const graceEndsMs = performance.now() + IDLE_GRACE_MS;
  const sweep = setInterval(() => {
    if (performance.now() < graceEndsMs) return;
    // To Node, a connection is idle while its client still reads the answer. Closing it would cut the answer short.
    if (!connections.all().some(({ isBacklogged }) => isBacklogged)) server.closeIdleConnections();
  }, SWEEP_INTERVAL_MS);
  let cutOff = 0;
  const timer = setTimeout(() => {
    const open = connections.all().toArray();
    const backlogged = new Set(open.filter(({ isBacklogged }) => isBacklogged));
    server.closeIdleConnections();
    // Closing an idle connection does not count as cutting it off, nor does ending a handshake.
    cutOff = open.filter((connection) => backlogged.has(connection) || !connection.socket.destroyed).length;
    for (const socket of connections.tcpSockets) socket.destroy();
  }, timeoutMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
  // Stops Node's timer for late requests.
  server.close();
  return cutOff;
}

/** Passes on the trouble of each kind and reason once a minute at most: it can happen thousands of times at once. */
function oncePerMinute(report: Report): Report {
  const reportedMs = new Map<string, number>();
  return (trouble) => {
    const key = JSON.stringify(trouble);
    const nowMs = performance.now();
    if (nowMs - (reportedMs.get(key) ?? -Infinity) < MINUTE_MS) return;
    reportedMs.set(key, nowMs);
    report(trouble);
  };
}
