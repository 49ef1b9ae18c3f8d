export const MAX_BODY_BYTES = 64 * 1024;

/** Request line and header section together. */
export const MAX_HEADERS_BYTES = 16 * 1024;

export const MAX_URL_BYTES = 8 * 1024;

/** Without its quotes, in characters. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/** Until the last header of a request has arrived. */
export const HEADERS_TIMEOUT_MS = 10_000;

export const REQUEST_TIMEOUT_MS = 30_000;
