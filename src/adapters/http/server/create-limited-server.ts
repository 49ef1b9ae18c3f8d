import { createServer, type Server } from 'node:http';
import type { ServerLimits } from '../wire/limits.ts';

/** How often Node checks for late requests, in milliseconds: how much later than its limit a timeout may come. */
const TIMEOUT_CHECK_MS = 500;

/** Node's HTTP server, with its limits set and the answers that it would write itself turned off. */
export function createLimitedServer(limits: ServerLimits): Server {
  const server = createServer({
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxHeaderSize: limits.maxHeadersBytes,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, limits.requestTimeoutMs),
    // Not even if Node runs with --insecure-http-parser.
    insecureHTTPParser: false,
    // Otherwise each request without a body costs an empty stream.
    optimizeEmptyRequests: true,
    // Node would answer 400 without a body. The application answers it instead.
    requireHostHeader: false,
  });
  // Without it, a client that never reads its answer keeps the connection and the memory of the answer for ever.
  server.timeout = limits.idleTimeoutMs;
  server.maxConnections = limits.maxConnections;
  // `maxHeaderSize` limits the headers. Beyond Node's default limit of their number, it drops headers silently.
  server.maxHeadersCount = 0;

  // A client may close its side once it has sent its request. Node would then hang up without an answer. The types
  // lack this property: https://github.com/nodejs/node/blob/v26.0.0/lib/_http_server.js
  Object.assign(server, { httpAllowHalfOpen: true });
  return server;
}
