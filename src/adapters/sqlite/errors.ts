import { StorageSetupError, StorageUnavailable } from '../../application/ports/storage-errors.ts';

/**
 * Every primary result code of https://www.sqlite.org/rescode.html. Each one means that the storage is unavailable or
 * that this program has a bug. Damage counts as unavailable: the request may be fine, and only an operator can help.
 */
const RESULT_CODES = {
  OK: [0, 'bug'],
  // The SQL does not fit the schema.
  ERROR: [1, 'bug'],
  INTERNAL: [2, 'bug'],
  PERM: [3, 'unavailable'],
  // Needs a callback that aborts or rolls back, and this program registers none.
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
  // Too many connections began to read at once.
  PROTOCOL: [15, 'unavailable'],
  EMPTY: [16, 'bug'],
  // SQLite itself prepares a statement again after a change of the schema.
  SCHEMA: [17, 'bug'],
  TOOBIG: [18, 'bug'],
  CONSTRAINT: [19, 'bug'],
  MISMATCH: [20, 'bug'],
  MISUSE: [21, 'bug'],
  // The file system does not support files this large.
  NOLFS: [22, 'unavailable'],
  AUTH: [23, 'bug'],
  FORMAT: [24, 'bug'],
  RANGE: [25, 'bug'],
  NOTADB: [26, 'unavailable'],
  // No call returns the last four as an error.
  NOTICE: [27, 'bug'],
  WARNING: [28, 'bug'],
  ROW: [100, 'bug'],
  DONE: [101, 'bug'],
} as const satisfies Readonly<Record<string, readonly [code: number, meaning: 'unavailable' | 'bug']>>;

type ResultCode = keyof typeof RESULT_CODES;

/** The codes that an operator can act on while a file is opened. */
const SETUP_PROBLEMS: Readonly<Partial<Record<ResultCode, string>>> = {
  BUSY: 'is locked by another program; stop that program and try again',
  READONLY: 'cannot be written; check the permissions of the file and of its directory',
  CORRUPT: 'is damaged or truncated; restore a backup',
  CANTOPEN: 'cannot be opened; check that it is a file, and the permissions of the file and of its directory',
  NOTADB: 'is not a SQLite database; choose another path',
};

/** By number. The keys of the table are its result codes. */
const NAMES = new Map<number, ResultCode>(
  (Object.keys(RESULT_CODES) as ResultCode[]).map((name) => [RESULT_CODES[name][0], name]),
);

type SqliteError = Error & { readonly errcode: number };

/** @returns a {@link StorageUnavailable} when the storage fails; the error itself when it is a bug */
export function translated(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return new StorageUnavailable(`SQLite is unavailable: ${error.message}`, { cause: error });
}

/**
 * Runs the work and translates its errors for the ports.
 *
 * @throws {StorageUnavailable}
 */
export function runAndTranslate<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translated(error);
  }
}

/** @returns a {@link StorageSetupError} when opening the file failed; the error itself when it is a bug */
export function setupError(file: string, error: unknown): unknown {
  const problem = setupProblem(error);
  if (problem === undefined) return error;
  return new StorageSetupError(`the SQLite file ${file} ${problem}`, { cause: error });
}

function setupProblem(error: unknown): string | undefined {
  if (isSqliteError(error)) {
    const name = resultCode(error);
    return (name && SETUP_PROBLEMS[name]) ?? `cannot be used: ${error.message}`;
  }
  if (isSystemError(error)) return `cannot be opened: ${error.message}`;
  return undefined;
}

/** Another connection holds a lock on the file. */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === 'BUSY';
}

/** The content of the file is wrong. A file that cannot be reached is another case. */
export function isDamage(error: unknown): boolean {
  const name = resultCode(error);
  return name === 'CORRUPT' || name === 'NOTADB';
}

/** A row breaks a rule of the schema. SQLite has undone the statement, and the transaction is still open. */
export function isConstraint(error: unknown): boolean {
  return resultCode(error) === 'CONSTRAINT';
}

/** `node:sqlite` refused the value before SQLite saw it. */
export function isUnbindable(error: unknown): boolean {
  return error instanceof TypeError;
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

function isUnavailable(error: unknown): error is Error {
  const name = resultCode(error);
  if (name !== undefined) return RESULT_CODES[name][1] === 'unavailable';
  if (isSystemError(error)) return true;
  // This process has closed the connection.
  return error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE';
}

/** A system call of Node failed: EIO, ENOSPC, EROFS, EMFILE. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}

/** The primary result code is the low byte of an extended one. */
function resultCode(error: unknown): ResultCode | undefined {
  return isSqliteError(error) ? NAMES.get(error.errcode & 0xff) : undefined;
}
