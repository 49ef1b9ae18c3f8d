/** The one API key of the service that is fuzzed. */
export const FUZZ_KEY = 'the-key-of-the-fuzzer';

/** Limits of the service that is fuzzed, in milliseconds: short, to see them at work, and longer than a busy machine stalls. */
export const FUZZ_LIMITS = {
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 6_000,
  requestTimeoutMs: 8_000,
  keepAliveTimeoutMs: 6_000,
  idleTimeoutMs: 12_000,
} as const;

/** How long the service reads on after its answer to what is not HTTP, in milliseconds: see `connection.ts`. */
export const LINGER_MS = 1_000;
