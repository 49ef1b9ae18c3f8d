import { HEADERS_TIMEOUT_MS, MAX_HEADERS_BYTES, REQUEST_TIMEOUT_MS } from '../wire/limits.ts';

/** How much of a body is read and discarded after the answer, to keep the connection usable. */
export const MAX_DISCARDED_BYTES = 1024 * 1024;

/** Limits of the server: how long a client may take, and how much memory its requests and answers may use. */
export type ServerLimits = {
  /** Time for a TLS handshake, in milliseconds. Default: 10 s. */
  readonly handshakeTimeoutMs: number;
  /** Time for all headers of a request, in milliseconds. Default: 10 s. */
  readonly headersTimeoutMs: number;
  /** Time for the whole request, in milliseconds. Default: 30 s. */
  readonly requestTimeoutMs: number;
  /** How long a connection stays open between requests, in milliseconds. Default: 65 s. */
  readonly keepAliveTimeoutMs: number;
  /**
   * How long a connection stays open without a byte in either direction, in milliseconds; up to twice as long in the
   * middle of an answer. It must be longer than any answer takes. Default: 40 s.
   */
  readonly idleTimeoutMs: number;
  /** Request line and headers together, in bytes. Default: 16 KiB. */
  readonly maxHeadersBytes: number;
  /** How many connections may be open. Default: 10,000. */
  readonly maxConnections: number;
  /**
   * How many bytes all connections together may hold in memory: answers that clients do not read, and requests that
   * wait for those answers. Default: 64 MiB.
   */
  readonly maxHeldBytes: number;
};

export const SERVER_LIMITS: ServerLimits = {
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: HEADERS_TIMEOUT_MS,
  requestTimeoutMs: REQUEST_TIMEOUT_MS,
  // Longer than the 60 s of common load balancers. If the service hung up first, their next request could be lost.
  keepAliveTimeoutMs: 65_000,
  // Longer than `requestTimeoutMs`, which answers 408.
  idleTimeoutMs: 40_000,
  maxHeadersBytes: MAX_HEADERS_BYTES,
  maxConnections: 10_000,
  maxHeldBytes: 64 * 1024 * 1024,
};
