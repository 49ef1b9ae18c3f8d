import { createServer, type IncomingMessage, type ServerOptions } from 'node:http';
import { BatchedResponse } from './batched-response.ts';
import type { ServerLimits } from './limits.ts';

/** Node checks the timeouts at this interval, so a timeout may be up to 0.5 s late. */
const TIMEOUT_CHECK_INTERVAL_MS = 500;

/** In PEM form: the certificate chain, which begins with the server's own certificate, and the private key. */
export type TlsPair = { readonly cert: string; readonly key: string };

/**
 * The reasons for the options are in docs/explanation/a-request.md.
 *
 * @throws {Error} if the pair is malformed
 */
export async function createLimitedServer(limits: ServerLimits, tls: TlsPair | undefined) {
  const options: ServerOptions<typeof IncomingMessage, typeof BatchedResponse> = {
    ServerResponse: BatchedResponse,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxHeaderSize: limits.maxHeadersBytes,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_INTERVAL_MS, limits.requestTimeoutMs),
    // The parser is strict even if Node runs with --insecure-http-parser.
    insecureHTTPParser: false,
    // Creates no stream for an absent body.
    optimizeEmptyRequests: true,
    requireHostHeader: false,
  };
  const tlsOptions = tls && { ...options, ...tls, handshakeTimeout: limits.handshakeTimeoutMs };
  const server = tlsOptions ? (await import('node:https')).createServer(tlsOptions) : createServer(options);
  server.timeout = limits.idleTimeoutMs;
  server.maxConnections = limits.maxConnections;
  // No limit, because Node would silently drop the headers beyond a limit.
  server.maxHeadersCount = 0;
  return server;
}
