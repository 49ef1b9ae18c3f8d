import {
  BSON,
  MongoAPIError,
  MongoBulkWriteError,
  MongoCompatibilityError,
  MongoError,
  MongoServerError,
  MongoWriteConcernError,
} from 'mongodb';
import { StorageSetupError, StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import { CODES, isServerError, WRONG_COMMAND_CODES } from './server-error-codes.ts';

/** An outage that no retry can end, such as a wrong password. */
class LastingOutage extends StorageUnavailable {}

/**
 * Translates an error for the caller of a port, without the text of a server: see {@link describeError}.
 *
 * @returns a {@link StorageUnavailable}, a {@link StorageSetupError}, or an error that means a bug
 */
export function toStorageError(error: unknown): unknown {
  const original = unwrapBulkWriteError(error);
  const refusedRecord = refusedRecordError(original);
  if (refusedRecord !== undefined) return refusedRecord;
  if (isClientClosed(original) || isServerError(original, 'Unauthorized', 'AuthenticationFailed')) {
    return new LastingOutage(`MongoDB is unavailable: ${describeError(original)}`);
  }
  if (isHintedIndexMissing(original)) {
    return new LastingOutage('MongoDB is unavailable: an index is missing; migrate the database again');
  }
  if (isOutage(original)) return new StorageUnavailable(`MongoDB is unavailable: ${describeError(original)}`);
  return original instanceof MongoServerError
    ? new Error(`MongoDB rejects a command: ${describeError(original)}`)
    : error;
}

/** @param failure what {@link toStorageError} returns */
export function isTransient(failure: unknown): failure is StorageUnavailable {
  return failure instanceof StorageUnavailable && !(failure instanceof LastingOutage);
}

/** Returns only the code of a server's error, because the text can quote names of pets and digests of keys. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The driver repeats the text of a server in its own errors.
  const reply = error.cause instanceof MongoServerError ? error.cause : error;
  if (!(reply instanceof MongoServerError)) return error.message;
  const { code, codeName = 'a code of https://www.mongodb.com/docs/manual/reference/error-codes' } = reply;
  // The failure of a single document has a number, but no name.
  const [name = codeName] = Object.entries(CODES).find(([, number]) => number === code) ?? [];
  const advice =
    code === CODES.Unauthorized
      ? '; the service needs the role readWrite, and petstore migrate also needs dbAdmin'
      : '';
  return `${name} (${String(code)})${advice}`;
}

function isOutage(error: unknown): boolean {
  if (error instanceof MongoServerError) {
    return failuresOf(error).some(({ code }) => !WRONG_COMMAND_CODES.has(code));
  }
  // `MongoAPIError` means a misuse of the driver. Its subclass means an incompatible server.
  if (error instanceof MongoAPIError) return error instanceof MongoCompatibilityError;
  // This adapter sends only valid BSON, so a `BSONError` means an invalid reply.
  return error instanceof MongoError || error instanceof BSON.BSONError || isSocketError(error);
}

/** If a bulk write gets no reply, the driver (7.8) stores the network error as `errorResponse`. */
function unwrapBulkWriteError(error: unknown): unknown {
  if (!(error instanceof MongoBulkWriteError)) return error;
  const reply: unknown = error.errorResponse;
  return reply instanceof Error ? reply : error;
}

/** The driver (7.8) throws some socket errors unchanged, such as `write ECONNRESET`. */
function isSocketError(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return false;
  const { code } = error as NodeJS.ErrnoException;
  return 'syscall' in error || /^(?:E[A-Z]+$|ERR_(?:STREAM|SOCKET|SSL|TLS)_)/.test(String(code));
}

/** Compares the text, because MongoDB has no code for a missing index. */
function isHintedIndexMissing(error: unknown): boolean {
  return (
    isServerError(error, 'BadValue') &&
    (error as Error).message.includes('hint provided does not correspond to an existing index')
  );
}

/** The driver does not export every class. `ExpiredSession`: a close of the client ends its sessions. */
const CLOSED_ERRORS =
  /^Mongo(?:TopologyClosed|ServerClosed|ClientClosed|NotConnected|ExpiredSession|PoolClosed)Error$/;

function isClientClosed(error: unknown): boolean {
  return error instanceof MongoError && CLOSED_ERRORS.test(error.name);
}

type WriteFailure = {
  readonly code?: unknown;
  readonly errmsg?: string | undefined;
  readonly keyPattern?: Readonly<Record<string, unknown>>;
};

/** After a write concern timeout, `result` has the failures of single documents. */
function failuresOf(error: MongoServerError): readonly WriteFailure[] {
  const { writeErrors = [] }: { readonly writeErrors?: WriteFailure | readonly WriteFailure[] } =
    error instanceof MongoWriteConcernError ? error.result : error;
  return [error, ...[writeErrors].flat()];
}

/** @returns the first field of the unique index that refused a write */
export function duplicateField(error: unknown): string | undefined {
  if (!(error instanceof MongoServerError)) return undefined;
  const duplicate = failuresOf(error).find(({ code }) => code === CODES.DuplicateKey);
  return Object.keys(duplicate?.keyPattern ?? {})[0];
}

const PETSTORE_UNIQUE_FIELDS = new Set(['_id', 'idem.k', 'key']);

const DUPLICATE_KEY_TEXT =
  /collection: [^.]+\.(?<collection>\S+) index: (?<index>.+?) (?:collation: .+ )?dup key: \{ "?(?<field>[^:"]+)/s;

/** @returns an error if a validator, or an index that petstore did not create, refuses a record */
function refusedRecordError(error: unknown): StorageSetupError | undefined {
  if (!(error instanceof MongoServerError)) return undefined;
  for (const { code, errmsg = error.message } of failuresOf(error)) {
    if (code === CODES.DocumentValidationFailure) {
      return new StorageSetupError('a validator of MongoDB refuses a record; petstore check names it');
    }
    const { collection, index, field = '_id' } = DUPLICATE_KEY_TEXT.exec(errmsg)?.groups ?? {};
    if (code === CODES.DuplicateKey && !PETSTORE_UNIQUE_FIELDS.has(field)) {
      return new StorageSetupError(
        `the unique index "${index}" of the collection "${collection}" refuses a record, and petstore did not create it; ` +
          `run in mongosh: db.getCollection("${collection}").dropIndex("${index}")`,
      );
    }
  }
  return undefined;
}
