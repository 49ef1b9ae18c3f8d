import type { Caller } from '../../../application/ports/token-verifier.ts';

/** `ctx.state`: what the middleware knows about a request. */
export type State = {
  /** The `X-Request-Id` of the answer and of every log line. */
  requestId: string;
  /**
   * Headers of the answer, by name. `ctx.set` works as well and takes 1 us of CPU longer for an answer (3 % of a list):
   * Node then validates and copies every header twice.
   */
  headers: Record<string, string>;
  /** The verified API key. Present behind {@link authenticate} under `/v1`; absent elsewhere. */
  caller?: Caller;
};
