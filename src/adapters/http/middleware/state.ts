import type { Caller } from '../../../application/ports/token-verifier.ts';

export type State = {
  /** The `X-Request-Id` of the answer and of every log line. */
  requestId: string;
  /** The address of the client of an error answer, read while the connection is open. */
  client?: string | undefined;
  query?: unknown;
  idempotencyKey?: string | undefined;
  /** The verified API key, on every path in a version of the API. */
  caller?: Caller;
};
