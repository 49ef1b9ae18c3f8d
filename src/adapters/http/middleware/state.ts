import type { Caller } from '../../../application/ports/token-verifier.ts';

/** `ctx.state`: what the middleware knows about a request. */
export type State = {
  /** The `X-Request-Id` of the answer and of every log line. */
  requestId: string;
  /** The address of the client of an error answer, read while the connection is open. */
  client?: string | undefined;
  /** The query of an operation, parsed. */
  query?: unknown;
  /** The idempotency key of a request that creates something. */
  idempotencyKey?: string | undefined;
  /** The verified API key. `authenticate` sets it for every path in a version of the API. */
  caller?: Caller;
};
