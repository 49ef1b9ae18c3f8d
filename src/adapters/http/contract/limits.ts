/** The longest request body. */
export const MAX_BODY_BYTES = 64 * 1024;

/** The longest request line and header section together. */
export const MAX_HEADERS_BYTES = 16 * 1024;

/** The longest request target. */
export const MAX_URL_BYTES = 8 * 1024;

/** The longest `Idempotency-Key`, without its quotes. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/** Time until the last header of a request has arrived. */
export const HEADERS_TIMEOUT_MS = 10_000;

/** Time until the whole request has arrived. */
export const REQUEST_TIMEOUT_MS = 30_000;
