import { createServer, type IncomingMessage, type ServerOptions } from 'node:http';
import { BatchedResponse } from './batched-response.ts';
import type { ServerLimits } from './limits.ts';

/** A timeout may come this much late. */
const TIMEOUT_CHECK_MS = 500;

/** The certificate chain, the server's own certificate first, and the private key, in PEM form. */
export type TlsPair = { readonly cert: string; readonly key: string };

/**
 * The options have their reasons in docs/explanation/a-request.md.
 *
 * @param tls makes an HTTPS server
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
    // Saves an empty stream per request without a body.
    optimizeEmptyRequests: true,
    requireHostHeader: false,
  };
  const withTls = tls && { ...options, ...tls, handshakeTimeout: limits.handshakeTimeoutMs };
  const server = withTls ? (await import('node:https')).createServer(withTls) : createServer(options);
  server.timeout = limits.idleTimeoutMs;
  server.maxConnections = limits.maxConnections;
  // No limit, because Node would silently drop further headers.
  server.maxHeadersCount = 0;
  return server;
}
