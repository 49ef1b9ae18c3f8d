import { closeSync, fsyncSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { MAX_PET_ID } from '../../domain/pet.ts';
import type { OnProgress } from '../../application/ports/progress.ts';
import { connect, fileOf, refuseTruncated } from './connection.ts';
import { isDamage, isSqliteError, setupError } from './errors.ts';
import { refuseForeignWal, ROW_FINDING } from './file/refuse-foreign-wal.ts';
import { markWal } from './file/wal-mark.ts';
import { retryWhileBusy } from './retry-while-busy.ts';
import { readVersion } from './schema.ts';

/** Pages are copied in steps of 4 MB; in between, progress is reported and an interruption is noticed. */
const PAGES_PER_STEP = 1024;

/**
 * So many ids after the last one of the backup are never given by a restored service, because the service may give them
 * to other pets after the backup. At 20,000 creates a second they last 19 months.
 */
const SKIPPED_IDS = 1_000_000_000_000n;

/** A copy holds what the database holds: for its owner alone. */
const FILE_MODE = 0o600;

/** What SQLite can leave beside a file. */
const SUFFIXES = ['', '-journal', '-wal', '-shm'] as const;

/**
 * Copies the database to a new file, also while a service writes to it. The copy is complete in itself: one file in
 * rollback mode, on the disk, checked for damage. It has the name only when all of that is done. Its ids continue 10^12
 * after the last one, beyond those that the service gives after the backup.
 *
 * The pages are those of one snapshot. Without it, SQLite starts again after every commit of another process. `VACUUM
 * INTO` has one, too, but blocks the event loop to the end and takes about twice the CPU time.
 * https://www.sqlite.org/c3ref/backup_finish.html#sqlite3backupstep
 *
 * @param path of the database
 * @param target a path that does not exist
 * @param onProgress may throw to stop the backup
 * @throws {StorageSetupError} when the database is missing, damaged or not of petstore, or the target cannot be written
 */
export async function backUp(path: string, target: string, onProgress: OnProgress): Promise<void> {
  const [file, copy] = [resolve(path), resolve(target)];
  using source = await openSnapshot(file);
  const partial = `${copy}.partial`;
  try {
    refuseExisting(copy);
    closeSync(openSync(partial, 'wx', FILE_MODE));
  } catch (error) {
    throw targetError(copy, error);
  }
  try {
    await backup(source, partial, {
      rate: PAGES_PER_STEP,
      progress: ({ totalPages, remainingPages }) =>
        onProgress({ doing: 'backing up', done: totalPages - remainingPages, total: totalPages }),
    });
    // The end of the snapshot lets the service empty its WAL.
    source.exec('ROLLBACK');
    if (!isSound(partial)) throw damaged(file);
    skipIds(partial);
    makeStandAlone(partial);
    sync(partial);
    // No other backup can come between: it would need the partial file.
    refuseExisting(copy);
    renameSync(partial, copy);
    sync(dirname(copy));
  } catch (error) {
    throw isDamage(error) ? damaged(file, error) : targetError(copy, error);
  } finally {
    for (const suffix of SUFFIXES) rmSync(partial + suffix, { force: true });
  }
}

/** A connection that sees the database as it is now, until it is closed. */
async function openSnapshot(file: string): Promise<DatabaseSync> {
  using opened = new DisposableStack();
  try {
    const db = opened.use(connect(file, { readOnly: true }));
    await retryWhileBusy(() => refuseForeignWal(fileOf(db)));
    await retryWhileBusy(() => refuseTruncated(db));
    db.exec('BEGIN');
    if ((await retryWhileBusy(() => readVersion(db))) === 0) {
      throw new StorageSetupError(`the SQLite file ${file} is empty; there is nothing to back up`);
    }
    opened.move();
    return db;
  } catch (error) {
    throw setupError(file, error);
  }
}

function isSound(file: string): boolean {
  using db = new DatabaseSync(file);
  const findings = db.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[];
  return findings.every(({ integrity_check: text }) => text === 'ok' || ROW_FINDING.test(text));
}

/**
 * Leaves everything in one file, which can be read from a read-only disk. Gives it a new mark: without one, a later
 * WAL of the database could pass for a WAL of the copy. See `markWal`.
 */
function makeStandAlone(file: string): void {
  using db = new DatabaseSync(file, { readBigInts: true });
  db.exec('PRAGMA journal_mode = DELETE');
  // The mark is the one row that names no table.
  db.exec('DELETE FROM sqlite_sequence WHERE name NOT IN (SELECT name FROM sqlite_schema)');
  markWal(db, file);
}

/** Ids are never re-used, not even after a restore. */
function skipIds(file: string): void {
  using db = new DatabaseSync(file, { readBigInts: true });
  const row = db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'pets'").get() as
    | SequenceRow
    | undefined;
  const next = (row?.seq ?? 0n) + SKIPPED_IDS;
  const last = next > MAX_PET_ID ? MAX_PET_ID : next;
  const change =
    row === undefined
      ? 'INSERT INTO sqlite_sequence (seq, name) VALUES (?, ?)'
      : 'UPDATE sqlite_sequence SET seq = ? WHERE name = ?';
  db.prepare(change).run(last, 'pets');
}

type SequenceRow = { readonly seq: bigint };

/** Syncs a file or a directory to the disk. No connection may have the file open, because closing it here would release its locks. */
function sync(path: string): void {
  const fd = openSync(path, 'r');
  fsyncSync(fd);
  closeSync(fd);
}

function refuseExisting(copy: string): void {
  // Not existsSync, which overlooks a symbolic link that leads nowhere.
  const isThere = lstatSync(copy, { throwIfNoEntry: false }) !== undefined;
  if (isThere) throw new StorageSetupError(`${copy} exists; choose another FILE`);
}

function damaged(file: string, cause?: unknown): StorageSetupError {
  return new StorageSetupError(`the SQLite file ${file} is damaged; no backup was written`, { cause });
}

function targetError(copy: string, error: unknown): unknown {
  if (!(error instanceof Error && (isSqliteError(error) || 'syscall' in error))) return error;
  const problem =
    'code' in error && error.code === 'EEXIST'
      ? `${copy}.partial exists: wait for the other backup, or remove what a killed one left`
      : `${copy} cannot be written: ${error.message}`;
  return new StorageSetupError(problem, { cause: error });
}
