/** The only API key of the service that is fuzzed. */
export const FUZZ_KEY = 'the-key-of-the-fuzzer';

/**
 * The time limits of the service that is fuzzed, in milliseconds. They are short, so that cases reach them, but longer
 * than the pauses of a busy machine.
 */
export const FUZZ_LIMITS = {
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 6_000,
  requestTimeoutMs: 8_000,
  keepAliveTimeoutMs: 6_000,
  idleTimeoutMs: 12_000,
} as const;

/**
 * How long the service still reads after its answer to input that is not HTTP, in milliseconds. It is the value in
 * `connection.ts`.
 */
export const LINGER_MS = 1_000;
