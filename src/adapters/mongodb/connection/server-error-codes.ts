import { MongoServerError } from 'mongodb';

// Source: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml, reviewed in November 2026.

/**
 * The codes that this adapter tells apart, and those that a single document can fail for: a server sends their numbers
 * without their names.
 */
export const CODES = {
  BadValue: 2,
  FailedToParse: 9,
  Unauthorized: 13,
  TypeMismatch: 14,
  AuthenticationFailed: 18,
  NamespaceNotFound: 26,
  NamespaceExists: 48,
  DocumentValidationFailure: 121,
  NotAReplicaSet: 123,
  TemporarilyUnavailable: 365,
  UserWritesBlocked: 371,
  AtlasError: 8_000,
  DuplicateKey: 11_000,
  OutOfDiskSpace: 14_031,
  IDLUnknownField: 40_415,
} as const;

/**
 * The server rejects the request itself: petstore has a bug. It cannot read the command, or refuses a document. Any other
 * code describes the state of the server, the replica set or the database.
 */
export const REJECTED_REQUEST: ReadonlySet<unknown> = new Set([
  CODES.BadValue,
  CODES.FailedToParse,
  CODES.TypeMismatch,
  CODES.DocumentValidationFailure,
  CODES.DuplicateKey,
  CODES.IDLUnknownField,
]);

/** Whether the server has answered with one of these codes. */
export function isServerError(error: unknown, ...names: readonly (keyof typeof CODES)[]): boolean {
  return error instanceof MongoServerError && names.some((name) => error.code === CODES[name]);
}

/** @returns `undefined` if the server answers with this code */
export async function unless<T>(code: keyof typeof CODES, reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (isServerError(error, code)) return undefined;
    throw error;
  }
}
