import { HEADERS_TIMEOUT_MS, MAX_HEADERS_BYTES, REQUEST_TIMEOUT_MS } from '../contract/limits.ts';

/** The reasons for the limits are in docs/explanation/a-request.md. */
export type ServerLimits = Readonly<typeof SERVER_LIMITS>;

export const SERVER_LIMITS = {
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: HEADERS_TIMEOUT_MS,
  requestTimeoutMs: REQUEST_TIMEOUT_MS,
  /** Longer than common load balancers keep a connection: 60 s. */
  keepAliveTimeoutMs: 65_000,
  /**
   * How long a connection stays open without a byte in either direction, and up to twice as long in the middle of an
   * answer. Must be longer than `requestTimeoutMs`, so that a late request is answered with 408.
   */
  idleTimeoutMs: 40_000,
  maxHeadersBytes: MAX_HEADERS_BYTES,
  maxConnections: 10_000,
  /** The most memory that all connections together may hold. */
  maxHeldBytes: 64 * 1024 * 1024,
};
