import type { Caller } from '../../../application/ports/token-verifier.ts';

/** What the middleware knows about a request. */
export type State = {
  /** The `X-Request-Id` of the answer and of every log line. */
  requestId: string;
  /** The verified API key. Present behind {@link authenticate} under `/v1`; absent elsewhere. */
  caller?: Caller;
};
