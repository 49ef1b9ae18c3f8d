import { MongoServerError } from 'mongodb';

// Source: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml, reviewed in November 2026.

/** The codes that this adapter distinguishes, and the codes that a reply gives without a name. */
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

/** These codes mean a wrong command, which is a bug of petstore. Other codes mean an outage. */
export const WRONG_COMMAND_CODES: ReadonlySet<unknown> = new Set([
  CODES.BadValue,
  CODES.FailedToParse,
  CODES.TypeMismatch,
  CODES.DocumentValidationFailure,
  CODES.DuplicateKey,
  CODES.IDLUnknownField,
]);

export function isServerError(error: unknown, ...names: readonly (keyof typeof CODES)[]): boolean {
  return error instanceof MongoServerError && names.some((name) => error.code === CODES[name]);
}

export async function ignore<T>(code: keyof typeof CODES, reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (isServerError(error, code)) return undefined;
    throw error;
  }
}
