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
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';

export const DUPLICATE_KEY = 11_000;
export const NAMESPACE_NOT_FOUND = 26;

const UNAUTHORIZED = 13;
const AUTHENTICATION_FAILED = 18;
const BAD_VALUE = 2;

/**
 * What a server answers when the request itself is wrong, or is refused for good. Every other code tells of the state
 * of the server, of the set or of the database, and so does one that we do not know.
 * https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml, gone through in November 2026.
 */
const REFUSALS = {
  BadValue: BAD_VALUE,
  NoSuchKey: 4,
  FailedToParse: 9,
  CannotMutateObject: 10,
  UnsupportedFormat: 12,
  TypeMismatch: 14,
  Overflow: 15,
  InvalidLength: 16,
  IllegalOperation: 20,
  EmptyArrayOperation: 21,
  InvalidBSON: 22,
  PathNotViable: 28,
  NonExistentPath: 29,
  InvalidPath: 30,
  CannotBackfillArray: 34,
  ConflictingUpdateOperators: 40,
  NamespaceExists: 48,
  DollarPrefixedFieldName: 52,
  InvalidIdField: 53,
  NotSingleValueField: 54,
  InvalidDBRef: 55,
  EmptyFieldName: 56,
  DottedFieldName: 57,
  CommandNotFound: 59,
  ShardKeyNotFound: 61,
  ImmutableField: 66,
  CannotCreateIndex: 67,
  IndexAlreadyExists: 68,
  InvalidOptions: 72,
  InvalidNamespace: 73,
  IndexOptionsConflict: 85,
  IndexKeySpecsConflict: 86,
  NoProjectionFound: 97,
  NotExactValueField: 111,
  CommandNotSupported: 115,
  DocumentValidationFailure: 121,
  OperationCannotBeBatched: 151,
  DurationOverflow: 159,
  MaxStalenessOutOfRange: 160,
  InvalidPipelineOperator: 168,
  CannotIndexParallelArrays: 171,
  AmbiguousIndexKeyPattern: 181,
  ClientMetadataMissingField: 183,
  ClientMetadataAppNameTooLarge: 184,
  ClientMetadataDocumentTooLarge: 185,
  ClientMetadataCannotBeMutated: 186,
  InvalidIndexSpecificationOption: 197,
  CannotBuildIndexKeys: 201,
  InvalidUUID: 207,
  QueryFeatureNotAllowed: 224,
  NotImplemented: 238,
  ConversionFailure: 241,
  OperationNotSupportedInTransaction: 263,
  APIVersionError: 322,
  APIStrictError: 323,
  APIDeprecationError: 324,
  APIMismatchError: 347,
  InvalidBSONType: 357,
  NonConformantBSON: 378,
  BSONObjectTooLarge: 10_334,
  DuplicateKey: DUPLICATE_KEY,
  IDLDuplicateField: 40_413,
  IDLFailedToParse: 40_414,
  IDLUnknownField: 40_415,
  NotARetryableWriteCommand: 50_768,
} as const;

const REFUSAL_CODES: ReadonlySet<unknown> = new Set(Object.values(REFUSALS));

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
  return reason instanceof Error ? reason : error;
}

function isUnavailable(error: unknown): error is Error {
  if (error instanceof MongoServerError) {
    return (
      codesOf(error).some((code) => !REFUSAL_CODES.has(code)) ||
      error.hasErrorLabel('RetryableWriteError') ||
      error.hasErrorLabel('SystemOverloadedError') ||
      isIndexMissing(error)
    );
  }
  // How the driver says that it is used wrongly, and that it has been closed.
  if (error instanceof MongoAPIError) return isClosed(error) || error instanceof MongoCompatibilityError;
  // A reply that is no BSON is the connection's fault: what we send ourselves is plain.
  return error instanceof MongoError || error instanceof BSON.BSONError || isSocketError(error);
}

/** In a bulk write, which can be repeated as a whole, each document may have failed by itself. */
function codesOf(error: MongoServerError): readonly unknown[] {
  const failures = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
  return failures.length === 0 ? [error.code] : failures.map(({ code }) => code);
}

/** The driver (7.8) lets what Node says of a socket that is being written to through as it is: `write ECONNRESET`. */
function isSocketError(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return false;
  if (!('code' in error && typeof error.code === 'string')) return false;
  return 'syscall' in error || /^(?:E[A-Z]+$|ERR_(?:STREAM|SOCKET|SSL|TLS)_)/.test(error.code);
}

/** Only an operator can help, by another password, a role or a migration: a later try of the same call is in vain. */
function isOperatorsTurn(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false;
  return error.code === UNAUTHORIZED || error.code === AUTHENTICATION_FAILED || isIndexMissing(error);
}

/** The server has no code of its own for a hint at an index that is not there. */
function isIndexMissing({ code, message }: MongoServerError): boolean {
  return code === BAD_VALUE && message.includes('hint provided does not correspond to an existing index');
}

/** No later try within the same call can succeed. */
export function isLasting(error: unknown): boolean {
  const reason = unwrapped(error);
  return isClosed(reason) || isOperatorsTurn(reason);
}

/** This process has closed its client. */
function isClosed(error: unknown): boolean {
  return (
    error instanceof MongoTopologyClosedError ||
    error instanceof MongoServerClosedError ||
    error instanceof MongoClientClosedError ||
    error instanceof MongoNotConnectedError ||
    // Sessions are the driver's own here: it ends them when it closes.
    error instanceof MongoExpiredSessionError ||
    // The driver does not export this class.
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
