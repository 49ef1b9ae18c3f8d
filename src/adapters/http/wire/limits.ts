/** The longest request body, as sent and after its content coding is removed. */
export const MAX_BODY_BYTES = 64 * 1024;

/** The longest request line and header section together. */
export const MAX_HEADERS_BYTES = 16 * 1024;

/** The longest request target. */
export const MAX_URL_BYTES = 8 * 1024;

/** The longest `Idempotency-Key`, without its quotes. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/** How long a client may take, in milliseconds, and how much it may send. */
export type ServerLimits = {
  /** Until the last header has come. */
  readonly headersTimeout: number;
  /** Until the whole request has come. */
  readonly requestTimeout: number;
  /** For how long a connection is kept open between requests. */
  readonly keepAliveTimeout: number;
  /**
   * For how long nothing may pass on a connection, in either direction; up to twice that in the middle of an answer.
   * Longer than any answer takes.
   */
  readonly idleTimeout: number;
  /** Request line and headers together, in bytes. */
  readonly maxHeaderSize: number;
  /** How many connections there may be. */
  readonly maxConnections: number;
  /**
   * How much may be held for all clients together, in bytes: answers that they do not take, and what they have sent
   * before its turn.
   */
  readonly heldLimit: number;
};

export const SERVER_LIMITS: ServerLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the 60 s of the usual load balancers, so that it is never the service that hangs up on them.
  keepAliveTimeout: 65_000,
  // Longer than a request may take to come, so that it is answered 408.
  idleTimeout: 40_000,
  maxHeaderSize: MAX_HEADERS_BYTES,
  maxConnections: 10_000,
  heldLimit: 64 * 1024 * 1024,
};
