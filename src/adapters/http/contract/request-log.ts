import type { IncomingMessage } from 'node:http';
import type { WhilePetsNeverChange } from '../../../application/ports/pets-never-change.ts';
import type { StorageUnavailable } from '../../../application/ports/storage-errors.ts';

/** A record contains no key and no body. */
export type RequestRecord = {
  readonly requestId: string;
  /** `undefined` when the bytes were not HTTP. */
  readonly method: string | undefined;
  /** The pattern, because a path may contain anything. `undefined` when no route matched. */
  readonly route?: string | undefined;
  /** `undefined` when there was no answer. */
  readonly status: number | undefined;
  /** Until the last byte of the answer. `undefined` when the application did not see the request. */
  readonly durationMs?: number | undefined;
  /** The public id of the API key. `undefined` when no key was verified. */
  readonly keyId?: string | undefined;
  readonly keyLabel?: string | undefined;
  /** The client's address. `undefined` unless the answer is an error. */
  readonly client?: string | undefined;
  /** The connection closed before the client had the whole answer. */
  readonly aborted?: true | undefined;
};

export type PetCreated = {
  readonly requestId: string;
  readonly petId: bigint;
  readonly keyId: string;
  readonly keyLabel: string;
  /** An earlier request with this Idempotency-Key added the pet. The client may have seen that request fail. */
  readonly replayed: boolean;
};

export type ConnectionError =
  /**
   * - `cut-off`: connections held too much memory.
   * - `refused`: too many connections.
   * - `tls`: a TLS handshake on a plain port.
   * - `not-tls`: a plain request on a TLS port.
   * - `no-address-from-proxy`: the trusted proxy forwards no valid client address.
   */
  | { readonly kind: 'cut-off' | 'refused' | 'tls' | 'not-tls' | 'no-address-from-proxy' }
  /** `reason` is a code of Node or OpenSSL. */
  | { readonly kind: 'handshake'; readonly reason: string };

export interface RequestLog {
  /** @param request absent if the application did not see the request */
  answered(record: RequestRecord, request?: IncomingMessage): void;
  /** A bug, or unavailable storage. */
  failed(error: unknown, requestId: string | undefined): void;
  /** The only audit line about pets. */
  petCreated(created: WhilePetsNeverChange<PetCreated>): void;
  /** Called up to thousands of times per second with the same error. */
  connectionError(error: ConnectionError): void;
  /** The request passes the rate limit uncounted. */
  notLimited(error: StorageUnavailable, requestId: string): void;
}
