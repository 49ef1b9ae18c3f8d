import {
  BSON,
  MongoAPIError,
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoCompatibilityError,
  MongoError,
  MongoExpiredSessionError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoServerError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from 'mongodb';
import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import { DUPLICATE_KEY, isRejectedRequest, isServerError } from './server-error-codes.ts';

type Reason =
  /** Petstore uses MongoDB wrongly, or the error is not about MongoDB. */
  | 'bug'
  /** An election, a timeout or a lost connection: a retry within the same call can succeed. */
  | 'outage'
  /** Another password, a role, a migration is needed, or this process has closed its client: no retry can succeed. */
  | 'lasting-outage';

/** @returns a {@link StorageUnavailable} unless the error is a bug; a bug unchanged */
export function toStorageError(error: unknown): unknown {
  const source = unwrapped(error);
  if (source instanceof StorageUnavailable || reasonOf(source) === 'bug') return error;
  const message = source instanceof Error ? source.message : String(source);
  return new StorageUnavailable(`MongoDB is unavailable: ${message}`, { cause: error });
}

/** Whether a retry within the same call can succeed. */
export function isTransient(error: unknown): boolean {
  return reasonOf(unwrapped(error)) === 'outage';
}

function reasonOf(error: unknown): Reason {
  if (error instanceof StorageUnavailable) {
    const reason = reasonOf(unwrapped(error.cause));
    // Such as a duplicate of a document that is not yet durable.
    return reason === 'bug' ? 'outage' : reason;
  }
  if (isClientClosed(error)) return 'lasting-outage';
  if (error instanceof MongoServerError) return reasonOfReply(error);
  // The driver reports its own misuse with this class, and an incompatible server with a subclass.
  if (error instanceof MongoAPIError) return error instanceof MongoCompatibilityError ? 'outage' : 'bug';
  // An invalid BSON reply is the connection's fault: everything that this adapter sends is valid.
  return error instanceof MongoError || error instanceof BSON.BSONError || isSocketError(error)
    ? 'outage'
    : 'bug';
}

function reasonOfReply(error: MongoServerError): Reason {
  if (isServerError(error, 'Unauthorized', 'AuthenticationFailed') || isHintedIndexMissing(error))
    return 'lasting-outage';
  const isOutage =
    codesOf(error).some((code) => !isRejectedRequest(code)) ||
    error.hasErrorLabel('RetryableWriteError') ||
    error.hasErrorLabel('SystemOverloadedError');
  return isOutage ? 'outage' : 'bug';
}

/** For an error without a server reply, the driver wraps the error into the reply of a bulk write. */
function unwrapped(error: unknown): unknown {
  if (!(error instanceof MongoBulkWriteError)) return error;
  const reply: unknown = error.errorResponse;
  return reply instanceof Error ? reply : error;
}

/** In a bulk write, each document has its own failure. */
function codesOf(error: MongoServerError): readonly unknown[] {
  const failures = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
  return failures.length === 0 ? [error.code] : failures.map(({ code }) => code);
}

/** The driver (7.8) passes on some errors of Node's sockets unchanged, such as `write ECONNRESET`. */
function isSocketError(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return false;
  const { code } = error as NodeJS.ErrnoException;
  return 'syscall' in error || /^(?:E[A-Z]+$|ERR_(?:STREAM|SOCKET|SSL|TLS)_)/.test(String(code));
}

/** The server has no specific code for a hint that names a missing index. */
function isHintedIndexMissing(error: MongoServerError): boolean {
  return (
    isServerError(error, 'BadValue') &&
    error.message.includes('hint provided does not correspond to an existing index')
  );
}

function isClientClosed(error: unknown): boolean {
  return (
    error instanceof MongoTopologyClosedError ||
    error instanceof MongoServerClosedError ||
    error instanceof MongoClientClosedError ||
    error instanceof MongoNotConnectedError ||
    // All sessions here are implicit. The driver ends them when the client closes.
    error instanceof MongoExpiredSessionError ||
    // The driver does not export this class.
    (error instanceof MongoError && error.name === 'MongoPoolClosedError')
  );
}

type WriteFailure = { readonly code?: unknown; readonly keyPattern?: Readonly<Record<string, unknown>> };

/**
 * @returns the first field of the unique index that rejected a write, such as `_id`; `undefined` if the write failed
 *   for another reason
 */
export function duplicateField(error: unknown): string | undefined {
  if (!(error instanceof MongoServerError)) return undefined;
  // With a write concern timeout as well, the duplicate key is in the result of the error.
  const { writeErrors }: { readonly writeErrors?: readonly WriteFailure[] } =
    error instanceof MongoWriteConcernError ? error.result : { writeErrors: [error] };
  const failure = writeErrors?.[0];
  return failure?.code === DUPLICATE_KEY ? Object.keys(failure.keyPattern ?? {})[0] : undefined;
}
