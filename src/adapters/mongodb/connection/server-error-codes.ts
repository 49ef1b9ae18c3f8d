import { MongoServerError } from 'mongodb';

// Source: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml, reviewed in November 2026.

/**
 * The server rejects the request itself: petstore has a bug. Any other code describes the state of the server, the
 * replica set or the database. That includes codes that are not in this list.
 */
const REJECTED_REQUEST = {
  BadValue: 2,
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
  DuplicateKey: 11_000,
  IDLDuplicateField: 40_413,
  IDLFailedToParse: 40_414,
  IDLUnknownField: 40_415,
  NotARetryableWriteCommand: 50_768,
} as const;

/** Other codes that this adapter handles. */
const CODES = {
  ...REJECTED_REQUEST,
  Unauthorized: 13,
  AuthenticationFailed: 18,
  NamespaceNotFound: 26,
  IndexNotFound: 27,
  NotAReplicaSet: 123,
  IndexBuildAborted: 276,
  Interrupted: 11_601,
  BackgroundOperationInProgressForNamespace: 12_587,
} as const;

const REJECTED_REQUEST_CODES: ReadonlySet<unknown> = new Set(Object.values(REJECTED_REQUEST));

export function isRejectedRequest(code: unknown): boolean {
  return REJECTED_REQUEST_CODES.has(code);
}

export const DUPLICATE_KEY = CODES.DuplicateKey;

/** Whether the server has answered with one of these codes. */
export function isServerError(error: unknown, ...names: readonly (keyof typeof CODES)[]): boolean {
  return error instanceof MongoServerError && names.some((name) => error.code === CODES[name]);
}
