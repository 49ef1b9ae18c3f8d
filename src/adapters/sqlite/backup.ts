import { closeSync, fsyncSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { MAX_PET_ID } from '../../domain/pet.ts';
import type { OnProgress } from '../../application/ports/progress.ts';
import { connect, fileOf, refuseTruncated } from './connection.ts';
import { isDamage, isSqliteError, setupError } from './errors.ts';
import { isSound } from './file/is-sound.ts';
import { refuseForeignWal } from './file/refuse-foreign-wal.ts';
import { markWal, removeMark } from './file/wal-mark.ts';
import { retryWhileBusy } from './retry-while-busy.ts';
import { readVersion } from './schema.ts';
import { ARCHIVE_WRITES, INSERT_STATEMENTS } from './statements.ts';

/** 4 MiB. Between two steps, the backup reports its progress and can be interrupted. */
const PAGES_PER_STEP = 1024;

/**
 * How many ids a restored service skips. The original service may have given them to other pets after the backup. At
 * 20,000 creates a second they last 19 months.
 */
const SKIPPED_IDS = 1_000_000_000_000n;

/** Like the database, a copy is readable by its owner only. */
const FILE_MODE = 0o600;

/** A database file and the files that SQLite can leave beside it. */
const SUFFIXES = ['', '-journal', '-wal', '-shm'] as const;

/**
 * Copies the database to a new file, even while a service writes to it. The copy is one self-contained file in rollback
 * mode. It gets its name once it is complete, checked for damage and on the disk. New ids in the copy start 10^12 after
 * its last one: see {@link SKIPPED_IDS}.
 *
 * All pages come from one snapshot. Without a snapshot, SQLite would start again after every commit of another process:
 * https://www.sqlite.org/c3ref/backup_finish.html#sqlite3backupstep
 * `VACUUM INTO` also reads one snapshot, but it blocks the event loop to its end and takes about twice the CPU time.
 *
 * @param path of the database
 * @param target a path that does not exist
 * @param onProgress may throw to stop the backup
 * @throws {StorageSetupError} when the database is missing, damaged or another application's, or when the target cannot
 *   be written
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
    // Ends the snapshot, which keeps the service from emptying its WAL.
    source.exec('ROLLBACK');
    refuseUnsound(file, partial);
    skipIds(partial);
    makeStandAlone(partial);
    sync(partial);
    // No other backup can create the target between this check and the rename: it would need the partial file.
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

function refuseUnsound(file: string, partial: string): void {
  using db = new DatabaseSync(partial);
  if (!isSound(db, 'integrity_check')) throw damaged(file);
}

/**
 * Leaves everything in one file, which is readable even on a read-only disk. Gives the file a new mark. Without it, a
 * later WAL of the database could pass for a WAL of the copy: see `markWal`.
 */
function makeStandAlone(file: string): void {
  using db = new DatabaseSync(file, { readBigInts: true });
  db.exec('PRAGMA journal_mode = DELETE');
  removeMark(db);
  markWal(db, file);
}

/** No id is ever reused, even after a restore. */
function skipIds(file: string): void {
  using db = new DatabaseSync(file, { readBigInts: true });
  db.exec(ARCHIVE_WRITES.createSequence);
  const { id } = db.prepare(INSERT_STATEMENTS.lastId).get() as { id: bigint };
  const next = id + SKIPPED_IDS;
  db.prepare(ARCHIVE_WRITES.raiseSequence).run(next > MAX_PET_ID ? MAX_PET_ID : next);
}

/**
 * Syncs a file or a directory to the disk. No connection may have the file open, because closing it here would release
 * its locks.
 */
function sync(path: string): void {
  const fd = openSync(path, 'r');
  fsyncSync(fd);
  closeSync(fd);
}

function refuseExisting(copy: string): void {
  // Not existsSync, which reports a dangling symbolic link as absent.
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
