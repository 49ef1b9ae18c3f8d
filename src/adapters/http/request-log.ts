import type { StorageUnavailable } from '../../application/ports/storage-errors.ts';

/** One answered request, as the log tells it. Holds no key and no body. */
export type RequestRecord = {
  readonly requestId: string;
  /** `undefined` when what came was not HTTP. */
  readonly method: string | undefined;
  /** The route's pattern, not the path, which can carry anything. `undefined` when no route matched. */
  readonly route: string | undefined;
  /** `undefined` when there was no answer. */
  readonly status: number | undefined;
  /** From the parsed headers of the request to the last byte of the answer, in milliseconds. `undefined` as above. */
  readonly durationMs: number | undefined;
  /** The id of the API key, which is public. `undefined` when none was verified. */
  readonly keyId: string | undefined;
  /** The label of the API key. `undefined` when none was verified. */
  readonly keyLabel: string | undefined;
  /** The client was gone before it had the whole answer, or the service cut it off. `undefined` if not. */
  readonly aborted: true | undefined;
};

/** A pet that a request was told to have added. For the audit: who did what. */
export type PetCreated = {
  readonly requestId: string;
  readonly petId: bigint;
  /** The id of the API key. */
  readonly keyId: string;
  /** Its label. */
  readonly keyLabel: string;
  /** An earlier request with the same Idempotency-Key had added it, and may have been answered with a failure. */
  readonly replayed: boolean;
};

/** What is wrong with connections, rather than with a request. */
export type ConnectionTrouble =
  /** Too much was held for clients that did not take it; those for which most was held lost their connections. */
  | { readonly kind: 'cut-off'; readonly connections: number }
  /** There were as many connections as there may be. */
  | { readonly kind: 'refused'; readonly connections: number }
  /** No file descriptor is left: how many connections are closed because of that is not known. */
  | { readonly kind: 'no-descriptors' }
  | { readonly kind: 'descriptors-again' };

/** Where the HTTP adapter reports what it did. */
export interface RequestLog {
  answered(request: RequestRecord): void;
  /** Something that is not the client's fault: a bug, or storage that is away. */
  failed(error: unknown, requestId: string | undefined): void;
  petCreated(created: PetCreated): void;
  /** At most once in ten seconds for each kind that is counted; the others when they begin and end. */
  connectionTrouble(trouble: ConnectionTrouble): void;
  /** A request was let through without being counted, because the storage of the rate limiter is away. */
  notLimited(error: StorageUnavailable, requestId: string): void;
}
