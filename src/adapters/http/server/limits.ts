import { HEADERS_TIMEOUT_MS, MAX_HEADERS_BYTES, REQUEST_TIMEOUT_MS } from '../contract/limits.ts';

/** The limits have their reasons in docs/explanation/a-request.md. */
export type ServerLimits = Readonly<typeof SERVER_LIMITS>;

export const SERVER_LIMITS = {
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: HEADERS_TIMEOUT_MS,
  requestTimeoutMs: REQUEST_TIMEOUT_MS,
  /** Longer than the 60 s of common load balancers. */
  keepAliveTimeoutMs: 65_000,
  /**
   * How long a connection stays open without a byte, and up to twice as long in the middle of an answer. Must be
   * longer than `requestTimeoutMs`, which answers 408.
   */
  idleTimeoutMs: 40_000,
  maxHeadersBytes: MAX_HEADERS_BYTES,
  maxConnections: 10_000,
  /** The memory of all connections together. */
  maxHeldBytes: 64 * 1024 * 1024,
};
