import type { IncomingMessage } from 'node:http';
import type { WhilePetsNeverChange } from '../../../application/ports/pets-never-change.ts';
import type { StorageUnavailable } from '../../../application/ports/storage-errors.ts';

/** One answered request. Contains no key and no body. */
export type RequestRecord = {
  readonly requestId: string;
  /** `undefined` when the bytes were not HTTP. */
  readonly method: string | undefined;
  /** The pattern of the route. Not the path, which may contain anything. `undefined` when no route matched. */
  readonly route?: string | undefined;
  /** `undefined` when there was no answer. */
  readonly status: number | undefined;
  /**
   * From the parsed request headers to the last byte of the answer, in milliseconds. `undefined` when the server
   * answered before the application saw the request.
   */
  readonly durationMs?: number | undefined;
  /** The public id of the API key. `undefined` when no key was verified. */
  readonly keyId?: string | undefined;
  /** The label of the API key. `undefined` when no key was verified. */
  readonly keyLabel?: string | undefined;
  /** The address of the client. `undefined` unless the answer is an error. */
  readonly client?: string | undefined;
  /** The connection closed before the client had the whole answer. `undefined` otherwise. */
  readonly aborted?: true | undefined;
};

/** A pet that a request added. For the audit log. */
export type PetCreated = {
  readonly requestId: string;
  readonly petId: bigint;
  /** The id of the API key. */
  readonly keyId: string;
  /** The label of the API key. */
  readonly keyLabel: string;
  /** An earlier request with the same Idempotency-Key added the pet. The client may have seen that request fail. */
  readonly replayed: boolean;
};

/** A problem with connections rather than with a request. */
export type ConnectionError =
  /**
   * cut-off: the answers that clients did not read took too much memory, and the largest holders lost their connections.
   * refused: the limit of connections was reached. tls: a client began with a TLS handshake on a plain port. not-tls: a
   * client began with a plain request on a TLS port. no-address-from-proxy: what the trusted proxy forwards as the
   * address of the client is none.
   */
  | { readonly kind: 'cut-off' | 'refused' | 'tls' | 'not-tls' | 'no-address-from-proxy' }
  /** A TLS handshake failed. `reason` is Node's code or OpenSSL's. */
  | { readonly kind: 'handshake'; readonly reason: string };

/** Receives the reports of the HTTP adapter. */
export interface RequestLog {
  /** @param request absent if the server answered before the application saw the request */
  answered(record: RequestRecord, request?: IncomingMessage): void;
  /** A failure that is not the client's fault: a bug, or unavailable storage. */
  failed(error: unknown, requestId: string | undefined): void;
  /** The only audit line about pets. */
  petCreated(created: WhilePetsNeverChange<PetCreated>): void;
  /** Can be called thousands of times within a second, with the same error. */
  connectionError(error: ConnectionError): void;
  /** A request passed uncounted because the storage of the rate limiter is unavailable. */
  notLimited(error: StorageUnavailable, requestId: string): void;
}
