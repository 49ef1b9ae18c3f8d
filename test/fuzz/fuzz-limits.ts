/** Limits of the service that is fuzzed, in milliseconds: short, to see them at work. */
export const FUZZ_LIMITS = {
  handshakeTimeoutMs: 5_000,
  headersTimeoutMs: 2_000,
  requestTimeoutMs: 4_000,
  keepAliveTimeoutMs: 2_000,
  idleTimeoutMs: 6_000,
} as const;
