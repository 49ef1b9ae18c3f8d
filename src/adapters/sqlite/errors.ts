import { StorageSetupError, StorageUnavailable } from '../../application/errors.ts';

/** https://www.sqlite.org/rescode.html */
const BUSY = 5;
const READONLY = 8;
const CORRUPT = 11;
const CANTOPEN = 14;
const CONSTRAINT = 19;
const NOTADB = 26;

/** What may be over later, because the machine and not the program is the reason. The rest are bugs, or damage. */
const UNAVAILABLE_CODES: ReadonlySet<number> = new Set([
  BUSY,
  6, // LOCKED
  7, // NOMEM
  READONLY,
  9, // INTERRUPT
  10, // IOERR
  13, // FULL
  CANTOPEN,
  15, // PROTOCOL: too many at once began to read
]);

/** SQLite's own words are for programmers. */
const SETUP_PROBLEMS: Readonly<Record<number, string>> = {
  [BUSY]: 'is held by another program; close that and try again',
  [READONLY]: 'cannot be written; check the permissions of the file and of its directory',
  [CORRUPT]: 'is damaged or has lost its end; restore a backup',
  [CANTOPEN]:
    'cannot be opened; check that it is a file, and the permissions of the file and of its directory',
  [NOTADB]: 'is no SQLite database; choose another path',
};

type SqliteError = Error & { readonly errcode: number };

/** The error in the words of the ports: {@link StorageUnavailable} where a later try may succeed, else itself. */
export function translated(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return new StorageUnavailable(`SQLite is unavailable: ${error.message}`, { cause: error });
}

/** What an operator needs to know about an error while a file is opened. */
export function setupError(file: string, error: unknown): unknown {
  if (isSqliteError(error)) {
    const problem = SETUP_PROBLEMS[primaryCode(error)] ?? `cannot be used: ${error.message}`;
    return new StorageSetupError(`the SQLite file ${file} ${problem}`, { cause: error });
  }
  if (error instanceof Error && 'syscall' in error) {
    return new StorageSetupError(`the SQLite file ${file} cannot be opened: ${error.message}`, {
      cause: error,
    });
  }
  return error;
}

/** Another connection is in the way. */
export function isBusy(error: unknown): boolean {
  return isSqliteError(error) && primaryCode(error) === BUSY;
}

/** A row breaks a rule of the schema. SQLite has undone the statement, and the transaction goes on. */
export function isConstraint(error: unknown): boolean {
  return isSqliteError(error) && primaryCode(error) === CONSTRAINT;
}

/** The value was refused before SQLite saw it. */
export function isUnbindable(error: unknown): boolean {
  return error instanceof TypeError;
}

function isUnavailable(error: unknown): error is Error {
  if (isSqliteError(error)) return UNAVAILABLE_CODES.has(primaryCode(error));
  // This process has closed the connection.
  return error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE';
}

/** The rest of the result code says more about it. */
function primaryCode({ errcode }: SqliteError): number {
  return errcode & 0xff;
}

function isSqliteError(error: unknown): error is SqliteError {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_SQLITE_ERROR' &&
    'errcode' in error &&
    typeof error.errcode === 'number'
  );
}
