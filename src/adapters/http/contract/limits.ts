export const MAX_BODY_BYTES = 64 * 1024;

/** The request line and the headers together. */
export const MAX_HEADERS_BYTES = 16 * 1024;

export const MAX_URL_BYTES = 8 * 1024;

/** In characters, not counting quotes. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

export const HEADERS_TIMEOUT_MS = 10_000;

/** The whole request must arrive within this time. */
export const REQUEST_TIMEOUT_MS = 30_000;
