/** The longest request body, as sent and after its content coding is removed. */
export const MAX_BODY_BYTES = 64 * 1024;

/** The longest request line and header section together. */
export const MAX_HEADERS_BYTES = 16 * 1024;

/** The longest request target. */
export const MAX_URL_BYTES = 8 * 1024;

/** The longest `Idempotency-Key`, without its quotes. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/** The longest `X-Request-Id` that the service accepts, in characters. */
export const MAX_REQUEST_ID_LENGTH = 64;

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
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  // Longer than the 60 s of common load balancers. If the service hung up first, their next request could be lost.
  keepAliveTimeoutMs: 65_000,
  // Longer than `requestTimeoutMs`, which answers 408.
  idleTimeoutMs: 40_000,
  maxHeadersBytes: MAX_HEADERS_BYTES,
  maxConnections: 10_000,
  maxHeldBytes: 64 * 1024 * 1024,
};
