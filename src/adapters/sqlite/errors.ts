import { StorageSetupError, StorageUnavailable } from '../../application/ports/storage-errors.ts';

/**
 * Every primary result code of https://www.sqlite.org/rescode.html: does the storage fail, or is it a bug of this
 * program? A damaged file is a failure of the storage. The request may be fine, and only an operator can help.
 */
const RESULT_CODES = {
  OK: [0, 'bug'],
  // SQL that does not fit the schema.
  ERROR: [1, 'bug'],
  INTERNAL: [2, 'bug'],
  PERM: [3, 'unavailable'],
  // Only an application that calls from within its own calls sees it.
  ABORT: [4, 'bug'],
  BUSY: [5, 'unavailable'],
  LOCKED: [6, 'unavailable'],
  NOMEM: [7, 'unavailable'],
  READONLY: [8, 'unavailable'],
  INTERRUPT: [9, 'unavailable'],
  IOERR: [10, 'unavailable'],
  CORRUPT: [11, 'unavailable'],
  NOTFOUND: [12, 'bug'],
  FULL: [13, 'unavailable'],
  CANTOPEN: [14, 'unavailable'],
  // Too many at once began to read.
  PROTOCOL: [15, 'unavailable'],
  EMPTY: [16, 'bug'],
  // SQLite prepares a statement again by itself when the schema has changed.
  SCHEMA: [17, 'bug'],
  TOOBIG: [18, 'bug'],
  CONSTRAINT: [19, 'bug'],
  MISMATCH: [20, 'bug'],
  MISUSE: [21, 'bug'],
  // The disk cannot hold a file as large as that.
  NOLFS: [22, 'unavailable'],
  AUTH: [23, 'bug'],
  FORMAT: [24, 'bug'],
  RANGE: [25, 'bug'],
  NOTADB: [26, 'unavailable'],
  // No outcome of a call.
  NOTICE: [27, 'bug'],
  WARNING: [28, 'bug'],
  ROW: [100, 'bug'],
  DONE: [101, 'bug'],
} as const satisfies Readonly<Record<string, readonly [code: number, decision: 'unavailable' | 'bug']>>;

const [BUSY] = RESULT_CODES.BUSY;
const [READONLY] = RESULT_CODES.READONLY;
const [CORRUPT] = RESULT_CODES.CORRUPT;
const [CANTOPEN] = RESULT_CODES.CANTOPEN;
const [CONSTRAINT] = RESULT_CODES.CONSTRAINT;
const [NOTADB] = RESULT_CODES.NOTADB;

const UNAVAILABLE_CODES: ReadonlySet<number> = new Set(
  Object.values(RESULT_CODES)
    .filter(([, decision]) => decision === 'unavailable')
    .map(([code]) => code),
);

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

/** The error in the words of the ports: {@link StorageUnavailable} where the storage fails, itself where it is a bug. */
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
  if (isSystemError(error)) {
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

/** The content of the file is not what SQLite expects, as against a file that cannot be reached. */
export function isDamage(error: unknown): boolean {
  return isSqliteError(error) && [CORRUPT, NOTADB].some((code) => code === primaryCode(error));
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
  if (isSystemError(error)) return true;
  // This process has closed the connection.
  return error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE';
}

/** The operating system refuses what Node asks it for: EIO, ENOSPC, EROFS, EMFILE. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}

/** The rest of the result code says more about it. */
function primaryCode({ errcode }: SqliteError): number {
  return errcode & 0xff;
}

export function isSqliteError(error: unknown): error is SqliteError {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_SQLITE_ERROR' &&
    'errcode' in error &&
    typeof error.errcode === 'number'
  );
}
