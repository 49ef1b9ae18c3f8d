import { HEADERS_TIMEOUT_MS, MAX_HEADERS_BYTES, REQUEST_TIMEOUT_MS } from '../contract/limits.ts';

/** Limits of the server: how long a client may take, and how much memory its requests and answers may use. */
export type ServerLimits = Readonly<typeof SERVER_LIMITS>;

/** The defaults. */
export const SERVER_LIMITS = {
  /** Time for a TLS handshake, in milliseconds. */
  handshakeTimeoutMs: 10_000,
  /** Time for all headers of a request, in milliseconds. */
  headersTimeoutMs: HEADERS_TIMEOUT_MS,
  /** Time for the whole request, in milliseconds. */
  requestTimeoutMs: REQUEST_TIMEOUT_MS,
  /**
   * How long a connection stays open between requests, in milliseconds. Longer than the 60 s of common load balancers:
   * if the service hung up first, their next request could be lost.
   */
  keepAliveTimeoutMs: 65_000,
  /**
   * How long a connection stays open without a byte in either direction, in milliseconds; up to twice as long in the
   * middle of an answer. It must be longer than any answer takes, and than `requestTimeoutMs`, which answers 408.
   */
  idleTimeoutMs: 40_000,
  /** Request line and headers together, in bytes. */
  maxHeadersBytes: MAX_HEADERS_BYTES,
  /** How many connections may be open. */
  maxConnections: 10_000,
  /**
   * How many bytes all connections together may hold in memory: answers that clients do not read, and requests that
   * wait for those answers.
   */
  maxHeldBytes: 64 * 1024 * 1024,
};
