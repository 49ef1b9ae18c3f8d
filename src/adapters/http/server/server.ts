import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { answerBrokenRequest, isAmbiguous, refuseAmbiguous } from './broken-request.ts';
import { closeServer } from './close-server.ts';
import { Connections } from './connections.ts';
import { inPeriods } from './in-periods.ts';
import type { RequestLog } from '../request-log.ts';
import { watchDescriptors } from './watch-descriptors.ts';
import { SERVER_LIMITS, type ServerLimits } from '../wire/limits.ts';

/**
 * How many connections may wait to be taken, if the system allows as many. A client that comes when there are more tries
 * again after a second. Node's default is 511.
 */
const BACKLOG = 4096;

/** How often the limits of time are looked after, in milliseconds: how late a timeout may come. */
const CHECK_INTERVAL = 500;

export type HttpServer = {
  /** The port that it has got. */
  readonly port: number;
  /**
   * Takes no new connection, lets every request in flight have its answer, and closes the connections behind
   * them. Whoever is not done after `deadline` milliseconds is cut off. Resolves with how many those were.
   */
  drain(deadline: number): Promise<number>;
};

/** @throws {NodeJS.ErrnoException} when it cannot listen there, such as `EADDRINUSE` */
export async function listen(
  handle: RequestListener,
  options: {
    readonly host: string;
    readonly port: number;
    readonly log: RequestLog;
    readonly limits?: Partial<ServerLimits>;
  },
): Promise<HttpServer> {
  const { log } = options;
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const server = limitedServer(limits);
  const refused = inPeriods((count) => log.connectionTrouble({ kind: 'refused', connections: count }));
  server.on('drop', () => refused(1));
  const connections = new Connections({
    begin: (request, response) => {
      if (isAmbiguous(request)) refuseAmbiguous(response, log);
      else handle(request, response);
    },
    heldLimit: limits.heldLimit,
    onCut: inPeriods((count) => log.connectionTrouble({ kind: 'cut-off', connections: count })),
  });
  server.on('connection', (socket) => connections.add(socket));
  const onRequest: RequestListener = (request, response) =>
    connections.of(request.socket)?.take(request, response);
  server.on('request', onRequest);
  // Node would answer 417 without a body; RFC 9110, section 10.1.1 lets us ignore what we do not know.
  server.on('checkExpectation', onRequest);
  // Node would hang up; this is no proxy, so that it is a method like every other.
  server.on('connect', (request, socket) => {
    const connection = connections.of(request.socket);
    connection?.ignore();
    answerConnect(request, socket, connection?.latest, onRequest);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const connection = connections.of(socket);
    // What does not come because it is not read is not late.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection?.isWaiting) return;
    connection?.ignore();
    answerBrokenRequest(error, socket, connection?.latest, log);
  });

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port, backlog: BACKLOG }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  // A connection that could not be accepted is no reason to stop.
  server.on('error', (error) => log.failed(error, undefined));
  const unwatch = watchDescriptors((isExhausted) =>
    log.connectionTrouble({ kind: isExhausted ? 'no-descriptors' : 'descriptors-again' }),
  );
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  return {
    port,
    drain: (deadline) => {
      unwatch();
      connections.drain();
      return closeServer(server, connections, deadline);
    },
  };
}

function limitedServer(limits: ServerLimits): Server {
  const server = createServer({
    ...limits,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL, limits.requestTimeout),
    // Not even when Node is run with --insecure-http-parser.
    insecureHTTPParser: false,
    // Without it, a request that has no body costs a stream that has nothing to say.
    optimizeEmptyRequests: true,
    // Node would answer 400 without a body; the application answers it.
    requireHostHeader: false,
  });
  // Else a client that takes no answer would keep its connection, and the answers their memory, for ever.
  server.timeout = limits.idleTimeout;
  server.maxConnections = limits.maxConnections;
  // The size of the headers is limited; beyond Node's limit of their number it would drop some without a word.
  server.maxHeadersCount = 0;

  // A client may close its side as soon as it has said everything: Node would hang up on it unanswered. Missing
  // in the types: https://github.com/nodejs/node/blob/v26.0.0/lib/_http_server.js
  Object.assign(server, { httpAllowHalfOpen: true });
  return server;
}

/**
 * From here on, only this cares for the socket.
 *
 * @param earlier the response before it on the same connection
 */
function answerConnect(
  request: IncomingMessage,
  socket: Duplex,
  earlier: ServerResponse | undefined,
  onRequest: RequestListener,
): void {
  // That the client is gone closes the response, which tells the log.
  socket.on('error', () => request.socket.destroy());
  const answer = () => {
    if (!socket.writable) return;
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.once('finish', () => {
      response.detachSocket(socket as Socket);
      response.emit('close');
      socket.end(() => request.socket.destroy());
    });
    onRequest(request, response);
  };
  // A socket takes one response at a time, and throws at a second.
  if (earlier === undefined || earlier.closed) answer();
  else earlier.once('close', answer);
}
