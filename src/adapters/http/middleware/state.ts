import type { Caller } from '../../../application/ports/token-verifier.ts';

/** `ctx.state`: what the middleware knows about a request. */
export type State = {
  /** The `X-Request-Id` of the answer and of every log line. */
  requestId: string;
  /**
   * Headers of the answer, by name. `ctx.set` works too, but Node then validates and copies every header twice.
   */
  headers: Record<string, string>;
  /** The pattern of the route. Absent when no route matched. */
  route?: string;
  /** The verified API key. `authenticate` sets it for paths under `/v1`. */
  caller?: Caller;
};
