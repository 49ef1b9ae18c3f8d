import { createServer, type Server } from 'node:http';
import type { ServerLimits } from '../wire/limits.ts';

/** How often Node checks for late requests, in milliseconds. A timeout may come this much after its limit. */
const TIMEOUT_CHECK_MS = 500;

/** Node's HTTP server, with its limits set and the answers that it would write itself turned off. */
export function createLimitedServer(limits: ServerLimits): Server {
  const server = createServer({
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxHeaderSize: limits.maxHeadersBytes,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, limits.requestTimeoutMs),
    // Strict even if Node runs with --insecure-http-parser.
    insecureHTTPParser: false,
    // Otherwise each request without a body costs an empty stream.
    optimizeEmptyRequests: true,
    // Node would answer 400 without a body. The application answers it instead.
    requireHostHeader: false,
  });
  // Otherwise, a client that never reads its answer would keep the connection and the answer in memory for ever.
  server.timeout = limits.idleTimeoutMs;
  server.maxConnections = limits.maxConnections;
  // `maxHeaderSize` limits the headers. Beyond Node's default limit of their number, it drops headers silently.
  server.maxHeadersCount = 0;

  Object.assign(server, {
    // The types lack these properties: https://github.com/nodejs/node/blob/v26.0.0/lib/_http_server.js and net.js
    // A client may close its side once it has sent its request. Node would then hang up without an answer.
    httpAllowHalfOpen: true,
    // While all workers of a cluster are full, a connection would go back and forth between them and the primary.
    dropMaxConnection: true,
  });
  return server;
}
