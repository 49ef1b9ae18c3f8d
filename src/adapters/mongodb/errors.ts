import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoExpiredSessionError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from 'mongodb';
import { StorageUnavailable } from '../../application/errors.ts';

/** https://www.mongodb.com/docs/manual/reference/error-codes/ */
const UNAVAILABLE_CODES: ReadonlySet<unknown> = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  50, // MaxTimeMSExpired
  64, // WriteConcernTimeout
  89, // NetworkTimeout
  91, // ShutdownInProgress
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  189, // PrimarySteppedDown
  262, // ExceededTimeLimit
  9001, // SocketException
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
]);

export const DUPLICATE_KEY = 11_000;

/**
 * The error in the words of the ports: {@link StorageUnavailable} where the database, not a bug, is the reason;
 * else the error itself.
 */
export function translated(error: unknown): unknown {
  const reason = unwrapped(error);
  if (!isUnavailable(reason)) return error;
  return new StorageUnavailable(`MongoDB is unavailable: ${reason.message}`, { cause: error });
}

/** In a bulk write the driver wraps what is no reply of the server, and hides it where a reply would be. */
function unwrapped(error: unknown): unknown {
  if (!(error instanceof MongoBulkWriteError)) return error;
  const reason: unknown = error.errorResponse;
  return reason instanceof MongoError ? reason : error;
}

function isUnavailable(error: unknown): error is MongoError {
  return (
    isClosed(error) ||
    error instanceof MongoServerSelectionError ||
    // A cleared connection pool is one too.
    error instanceof MongoNetworkError ||
    (error instanceof MongoError &&
      // The driver does not export this class.
      (error.name === 'MongoWaitQueueTimeoutError' ||
        error.hasErrorLabel('RetryableWriteError') ||
        error.hasErrorLabel('SystemOverloadedError') ||
        UNAVAILABLE_CODES.has(error.code)))
  );
}

/** This process has closed its client: no later try can succeed. */
export function isClosed(error: unknown): error is MongoError {
  return (
    error instanceof MongoTopologyClosedError ||
    error instanceof MongoServerClosedError ||
    error instanceof MongoClientClosedError ||
    error instanceof MongoNotConnectedError ||
    // Sessions are the driver's own here: it ends them when it closes.
    error instanceof MongoExpiredSessionError ||
    (error instanceof MongoError && error.name === 'MongoPoolClosedError')
  );
}

/**
 * The field whose unique index has refused a write, such as `_id`; `undefined` when the write failed otherwise.
 *
 * A duplicate key together with a write-concern timeout comes as a {@link MongoWriteConcernError} that hides the
 * duplicate in its result.
 */
export function duplicateField(error: unknown): string | undefined {
  if (!(error instanceof MongoServerError)) return undefined;
  const { writeErrors }: { readonly writeErrors?: readonly WriteFailure[] } =
    error instanceof MongoWriteConcernError ? error.result : { writeErrors: [error] };
  const failure = writeErrors?.[0];
  return failure?.code === DUPLICATE_KEY ? Object.keys(failure.keyPattern ?? {})[0] : undefined;
}

/** The validator of the collection has refused a write: DocumentValidationFailure. */
export function isMisfit(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === 121;
}

type WriteFailure = { readonly code?: unknown; readonly keyPattern?: Readonly<Record<string, unknown>> };
