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
import { CODES, isServerError, REJECTED_REQUEST } from './server-error-codes.ts';

/** An outage that no retry within the same call can end: it needs another password, a role or a migration. */
class LastingOutage extends StorageUnavailable {}

/**
 * What the caller of a port may see of an error. A server's own text stays behind: see {@link described}.
 *
 * @returns a {@link StorageUnavailable}, a {@link StorageSetupError}, or a bug
 */
export function toStorageError(error: unknown): unknown {
  const source = unwrapped(error);
  const broken = ruleBroken(source);
  if (broken !== undefined) return broken;
  if (isClientClosed(source) || isServerError(source, 'Unauthorized', 'AuthenticationFailed')) {
    return new LastingOutage(`MongoDB is unavailable: ${described(source)}`);
  }
  if (isHintedIndexMissing(source)) {
    return new LastingOutage('MongoDB is unavailable: an index is missing; migrate the database again');
  }
  if (isOutage(source)) return new StorageUnavailable(`MongoDB is unavailable: ${described(source)}`);
  return source instanceof MongoServerError
    ? new Error(`MongoDB rejects a command: ${described(source)}`)
    : error;
}

/** Whether a retry within the same call can succeed. @param failure what {@link toStorageError} returns */
export function isTransient(failure: unknown): failure is StorageUnavailable {
  return failure instanceof StorageUnavailable && !(failure instanceof LastingOutage);
}

/**
 * What a log or a terminal may show of an error. A server's text can quote the command, with names of pets and digests
 * of keys. Of its reply, only the name and the number of the code are shown.
 */
export function described(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The driver repeats the text of a server in errors of its own.
  const reply = error.cause instanceof MongoServerError ? error.cause : error;
  if (!(reply instanceof MongoServerError)) return error.message;
  const { code, codeName = 'a code of https://www.mongodb.com/docs/manual/reference/error-codes' } = reply;
  // For the failure of a single document, a reply has the number only.
  const [name = codeName] = Object.entries(CODES).find(([, number]) => number === code) ?? [];
  const advice =
    code === CODES.Unauthorized
      ? '; the role readWrite has the rights of the service, and dbAdmin those of migrate besides'
      : '';
  return `${name} (${String(code)})${advice}`;
}

function isOutage(error: unknown): boolean {
  if (error instanceof MongoServerError) {
    return failuresOf(error).some(({ code }) => !REJECTED_REQUEST.has(code));
  }
  // The driver reports its own misuse with this class, and an incompatible server with a subclass.
  if (error instanceof MongoAPIError) return error instanceof MongoCompatibilityError;
  // An invalid BSON reply is the connection's fault: everything that this adapter sends is valid.
  return error instanceof MongoError || error instanceof BSON.BSONError || isSocketError(error);
}

/** For an error without a server reply, the driver wraps the error into the reply of a bulk write. */
function unwrapped(error: unknown): unknown {
  if (!(error instanceof MongoBulkWriteError)) return error;
  const reply: unknown = error.errorResponse;
  return reply instanceof Error ? reply : error;
}

/** The driver (7.8) passes on some errors of Node's sockets unchanged, such as `write ECONNRESET`. */
function isSocketError(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return false;
  const { code } = error as NodeJS.ErrnoException;
  return 'syscall' in error || /^(?:E[A-Z]+$|ERR_(?:STREAM|SOCKET|SSL|TLS)_)/.test(String(code));
}

/** The server has no specific code for a hint that names a missing index. */
function isHintedIndexMissing(error: unknown): boolean {
  return (
    isServerError(error, 'BadValue') &&
    (error as Error).message.includes('hint provided does not correspond to an existing index')
  );
}

/** The driver does not export all of these. It ends all sessions, which are implicit here, when the client closes. */
const CLOSED =
  /^Mongo(?:TopologyClosed|ServerClosed|ClientClosed|NotConnected|ExpiredSession|PoolClosed)Error$/;

function isClientClosed(error: unknown): boolean {
  return error instanceof MongoError && CLOSED.test(error.name);
}

type WriteFailure = {
  readonly code?: unknown;
  readonly errmsg?: string | undefined;
  readonly keyPattern?: Readonly<Record<string, unknown>>;
};

/** The failure of a command, and those of its documents. With a write concern timeout, these are in its result. */
function failuresOf(error: MongoServerError): readonly WriteFailure[] {
  const { writeErrors = [] }: { readonly writeErrors?: WriteFailure | readonly WriteFailure[] } =
    error instanceof MongoWriteConcernError ? error.result : error;
  return [error, ...[writeErrors].flat()];
}

/**
 * @returns the first field of the unique index that rejected a write, such as `_id`; `undefined` if the write failed
 *   for another reason
 */
export function duplicateField(error: unknown): string | undefined {
  if (!(error instanceof MongoServerError)) return undefined;
  const duplicate = failuresOf(error).find(({ code }) => code === CODES.DuplicateKey);
  return Object.keys(duplicate?.keyPattern ?? {})[0];
}

/** The fields of the unique indexes that petstore makes. */
const OWN_FIELDS = new Set(['_id', 'idem.k', 'key']);

/** What a server says of a duplicate. What follows is the value. */
const DUPLICATE =
  /collection: [^.]+\.(?<collection>\S+) index: (?<index>.+?) (?:collation: .+ )?dup key: \{ "?(?<field>[^:"]+)/s;

/** @returns the error if an index or a validator that petstore has not made refuses a record */
function ruleBroken(error: unknown): StorageSetupError | undefined {
  if (!(error instanceof MongoServerError)) return undefined;
  for (const { code, errmsg = error.message } of failuresOf(error)) {
    if (code === CODES.DocumentValidationFailure) {
      return new StorageSetupError('a validator of MongoDB refuses a record; petstore check reports which');
    }
    const { collection, index, field = '_id' } = DUPLICATE.exec(errmsg)?.groups ?? {};
    if (code === CODES.DuplicateKey && !OWN_FIELDS.has(field)) {
      return new StorageSetupError(
        `the unique index "${index}" of the collection "${collection}" refuses a record, and petstore has not made it; ` +
          `run in mongosh: db.getCollection("${collection}").dropIndex("${index}")`,
      );
    }
  }
  return undefined;
}
