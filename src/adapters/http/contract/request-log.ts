import type { IncomingMessage } from 'node:http';
import type { WhilePetsNeverChange } from '../../../application/ports/pets-never-change.ts';
import type { StorageUnavailable } from '../../../application/ports/storage-errors.ts';

/** Contains no token and no body. */
export type RequestRecord = {
  readonly requestId: string;
  /** `undefined` when the bytes were not HTTP. */
  readonly method: string | undefined;
  /** The pattern of the path, because the path itself may contain any text. `undefined` when no route matched. */
  readonly route?: string | undefined;
  /** `undefined` when there was no answer. */
  readonly status: number | undefined;
  /** The time until the answer was sent. `undefined` when the request did not reach the application. */
  readonly durationMs?: number | undefined;
  /** `undefined` when no key was verified. */
  readonly keyId?: string | undefined;
  readonly keyLabel?: string | undefined;
  /** The client's address, only for an error answer. */
  readonly client?: string | undefined;
  /** Whether the connection closed before the whole answer was sent. */
  readonly aborted?: true | undefined;
};

export type PetCreated = {
  readonly requestId: string;
  readonly petId: bigint;
  readonly keyId: string;
  readonly keyLabel: string;
  /** Whether an earlier request with this Idempotency-Key added the pet. */
  readonly replayed: boolean;
};

export type ConnectionError =
  /**
   * - `cut-off`: the service closed connections that held too much memory.
   * - `refused`: the service refused a connection, because too many were open.
   * - `tls`: a client began a TLS handshake on a plain port.
   * - `not-tls`: a client sent a plain request to a TLS port.
   * - `no-address-from-proxy`: the trusted proxy forwards no valid client address.
   */
  | { readonly kind: 'cut-off' | 'refused' | 'tls' | 'not-tls' | 'no-address-from-proxy' }
  /** `reason` is a code of Node or OpenSSL. */
  | { readonly kind: 'handshake'; readonly reason: string };

export interface RequestLog {
  answered(record: RequestRecord, request?: IncomingMessage): void;
  /** Logs a bug, or a failure of the storage. */
  failed(error: unknown, requestId: string | undefined): void;
  /** Logs the only audit line about pets. */
  petCreated(created: WhilePetsNeverChange<PetCreated>): void;
  /** A caller may report the same error thousands of times per second. */
  connectionError(error: ConnectionError): void;
  /** The limiter has failed, so the request is allowed without being counted. */
  notLimited(error: StorageUnavailable, requestId: string): void;
}
