import { mkdtempDisposableSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { StorageSetupError, StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageHost } from '../../application/ports/storage-health.ts';

export const BUSY = 5;
const CORRUPT = 11;
const NOTADB = 26;
const CONSTRAINT = 19;

/** SQLITE_IOERR_FSYNC */
export const SYNC_FAILED = 1034;

/**
 * The primary result codes that mean a failure of the storage, with advice for the operator who opens the file. Damage
 * is a failure: the request may be fine, and only an operator can help. Other codes mean a bug:
 * https://www.sqlite.org/rescode.html
 */
const FAILURES = new Map<number | undefined, string | undefined>([
  [BUSY, 'is locked by another program; stop that program and try again'],
  [8, 'cannot be written; check the permissions of the file and of its directory'],
  [CORRUPT, 'is damaged or truncated; restore a backup'],
  [13, 'cannot be written: its disk is full'],
  [14, 'cannot be opened; check that it is a file, and the permissions of the file and of its directory'],
  [NOTADB, 'is not a SQLite database; choose another path'],
  // PERM, LOCKED, NOMEM, INTERRUPT, IOERR, PROTOCOL (too many connections begin to read), NOLFS (too large a file).
  ...[3, 6, 7, 9, 10, 15, 22].map((code) => [code, undefined] as const),
]);

const NO_LOCKS = 'cannot be locked: its file system refuses locks (ENOLCK); put it on a disk of this machine';

export const BUSY_TIMEOUT_MS = 5_000;

export const BUSY_PAUSE_MS = 5;

/** @returns a {@link StorageUnavailable} for a failure of the storage; any other error unchanged */
export function translated(error: unknown): unknown {
  // Means that this process has closed the connection.
  const isClosed = error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE';
  if (!isClosed && !isSystemError(error) && !FAILURES.has(resultCode(error))) return error;
  return new StorageUnavailable(`SQLite is unavailable: ${(error as Error).message}`, { cause: error });
}

/** Adds the path of the file, because SQLite does not report which disk is full. */
export function withFile(error: unknown, file: string): unknown {
  if (FAILURES.has(resultCode(error))) (error as Error).message += ` (${file})`;
  return error;
}

export function runAndTranslate<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translated(error);
  }
}

/**
 * Repeats the work while another connection has the file locked. SQLite's own busy timeout would block the event loop.
 *
 * @throws the error of SQLite; SQLITE_BUSY after the timeout
 */
export async function retryWhileBusy<T>(work: () => T, timeoutMs = BUSY_TIMEOUT_MS): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadlineMs) throw error;
    }
    await sleep(BUSY_PAUSE_MS);
  }
}

/** @throws {StorageUnavailable} also when the file stays locked for {@link BUSY_TIMEOUT_MS} */
export async function retryAndTranslate<T>(work: () => T): Promise<T> {
  return retryWhileBusy(work).catch((error) => {
    throw translated(error);
  });
}

/** @returns a {@link StorageSetupError} for a failure of the storage; any other error unchanged */
export function setupError(file: string, error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined && !isSystemError(error)) return error;
  const advice = isBusy(error) && refusesLocks(dirname(file)) ? NO_LOCKS : FAILURES.get(code);
  const problem = advice ?? `cannot be opened: ${(error as Error).message}`;
  return new StorageSetupError(`the SQLite file ${file} ${problem}`, { cause: error });
}

/**
 * Locks a file that no other program knows, because SQLite reports refused locks (ENOLCK) as it reports a lock of
 * another program.
 */
function refusesLocks(directory: string): boolean {
  try {
    using ownDirectory = mkdtempDisposableSync(join(directory, 'petstore-lock-'));
    using probe = new DatabaseSync(join(ownDirectory.path, 'probe'));
    probe.exec('BEGIN EXCLUSIVE');
    return false;
  } catch (error) {
    return isBusy(error);
  }
}

/** Does not close the file: see docs/explanation/group-commit.md#when-a-sync-fails. */
export function endIfSyncFailed(error: unknown, host: StorageHost): void {
  const { errcode, message } = error as Error & { readonly errcode?: number };
  if (errcode === SYNC_FAILED) endUnclosed(`a sync has failed: ${message}`, host);
}

export function endUnclosed(problem: string, host: StorageHost): never {
  host.fatal(
    `${problem}; this process ends without closing the file; start petstore again before any other program opens it`,
  );
}

export function isBusy(error: unknown): boolean {
  return resultCode(error) === BUSY;
}

export function isDamage(error: unknown): boolean {
  const code = resultCode(error);
  return code === CORRUPT || code === NOTADB;
}

/** After this error, SQLite has undone the statement, and the transaction is still open. */
export function isConstraint(error: unknown): error is Error {
  return resultCode(error) === CONSTRAINT;
}

/** Also accepts SQLITE_ERROR, with which `ALTER TABLE` reports a row that breaks a rule. */
export function reportsBrokenRule(error: unknown): error is Error {
  return isConstraint(error) || resultCode(error) === 1;
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}

/** The low byte of an extended code. An error of `node:sqlite` itself has no code, and means a bug. */
function resultCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
}
