import { createServer, type IncomingMessage, type ServerOptions } from 'node:http';
import { BatchedResponse } from './batched-response.ts';
import type { ServerLimits } from './limits.ts';

/** How often Node checks for late requests, in milliseconds. A timeout may come this much after its limit. */
const TIMEOUT_CHECK_MS = 500;

/** A certificate with its chain, the server's own first, and its private key. Both are in PEM form. */
export type TlsPair = { readonly cert: string; readonly key: string };

/**
 * Node's HTTP server, with its limits set and the answers that it would write itself turned off.
 *
 * @param tls makes it an HTTPS server
 * @throws {Error} if the pair is malformed
 */
export async function createLimitedServer(limits: ServerLimits, tls: TlsPair | undefined) {
  const options: ServerOptions<typeof IncomingMessage, typeof BatchedResponse> = {
    ServerResponse: BatchedResponse,
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
  };
  // Loaded on demand: a start without TLS does not wait for it.
  const withTls = tls && { ...options, ...tls, handshakeTimeout: limits.handshakeTimeoutMs };
  const server = withTls ? (await import('node:https')).createServer(withTls) : createServer(options);
  // Otherwise, a client that never reads its answer would keep the connection and the answer in memory for ever.
  server.timeout = limits.idleTimeoutMs;
  server.maxConnections = limits.maxConnections;
  // `maxHeaderSize` limits the headers. Beyond Node's default limit of their number, it drops headers silently.
  server.maxHeadersCount = 0;
  return server;
}
