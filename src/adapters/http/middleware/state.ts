import type { Caller } from '../../../application/ports/token-verifier.ts';

export type State = {
  /** The `X-Request-Id` of the answer and of every log line. */
  requestId: string;
  /** The client's address, for an error answer. Read while the connection is open. */
  client?: string | undefined;
  query?: unknown;
  idempotencyKey?: string | undefined;
  /** The verified API key. Paths under a version such as `/v1` require a key. */
  caller?: Caller;
};
