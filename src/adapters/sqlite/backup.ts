import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import type { OnProgress, Progress } from '../../application/ports/pet-archive.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { MAX_PET_ID, SKIPPED_PET_IDS } from '../../domain/pet.ts';
import { resolveLinks } from '../files/database-files.ts';
import { createDirectory, writeNewFile, writeWholeFile } from '../files/durable-files.ts';
import { connect, fileOf, refuseTruncated } from './connection.ts';
import { isSound, schemaProblems } from './damage.ts';
import { isDamage, retryWhileBusy } from './errors.ts';
import { fileFormatOf } from './file-format.ts';
import { openOrRelease } from './open.ts';
import { hasSteps, refuseOtherVersion } from './schema.ts';
import { takeServiceLock } from './service-lock.ts';
import { ARCHIVE_STATEMENTS, integerIn, PET_STATEMENTS } from './statements.ts';

/** 4 MiB. Between two steps, the backup reports its progress and can be interrupted. */
const PAGES_PER_STEP = 1024;

type Share = Omit<Progress, 'doing'>;

/**
 * Copies the database to a new file, even while a service writes to it. The copy is one self-contained file in rollback
 * mode, with the schema version of the database. It gets its name once it is complete, checked for damage and on the
 * disk. New ids in the copy start 10^12 after its last one: see {@link SKIPPED_PET_IDS}.
 *
 * All pages come from one snapshot. Without a snapshot, SQLite would start again after every commit of another process:
 * https://www.sqlite.org/c3ref/backup_finish.html#sqlite3backupstep
 * `VACUUM INTO` also reads one snapshot, but it blocks the event loop to its end and takes about twice the CPU time.
 *
 * @param path of the database
 * @param target a path that does not exist
 * @param onProgress may throw to stop the backup
 */
export async function backUp(path: string, target: string, onProgress: OnProgress): Promise<void> {
  // Of any build: what it needs is in every version.
  using source = await openSnapshot(path, (version) => version !== 0);
  await writeNewFile(target, async (partial) => {
    await copySound(source, partial, (share) => onProgress({ doing: 'backing up', ...share }));
    completeCopy(partial);
  });
}

/**
 * Puts a backup where there is no database. It gets its name once it is complete, checked for damage and on the disk.
 * It replaces nothing: an operator moves away what is there, so that no failure and no crash can lose it. A backup of an
 * earlier release keeps its schema version: the start of a service brings it up to date.
 *
 * @returns the last id that no new pet gets
 * @throws {StorageSetupError} including when there is a database, or a part of one, and when a service uses the path
 */
export async function restore(to: string, from: string, onProgress: OnProgress): Promise<bigint> {
  return openOrRelease(to, undefined, async () => {
    const file = resolveLinks(to);
    using source = await openBackup(from);
    await createDirectory(dirname(file));
    // Before anything is moved away: a running service would go on writing to it.
    using _ = await takeServiceLock(file);
    await writeWholeFile(file, {
      check: refuseExisting,
      write: (copy) => copySound(source, copy, (share) => onProgress({ doing: 'restoring', ...share })),
    });
    return lastId(source);
  });
}

/** @throws {StorageSetupError} which has the command that moves a database away, in one piece with its log */
function refuseExisting(file: string): void {
  const found = ['', '-wal', '-journal'].map((suffix) => file + suffix).filter((path) => existsSync(path));
  if (found.length === 0) return;
  const kept = quoted(`${file}.before-restore-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`);
  throw new StorageSetupError(
    `${found[0]} exists, and restore replaces nothing; keep the service from starting, and move the old database away: ` +
      `mkdir ${kept} && mv ${found.map(quoted).join(' ')} ${kept}`,
  );
}

/**
 * A connection that sees the database as it is now, until it is closed.
 *
 * @throws {StorageSetupError}
 */
async function openSnapshot(path: string, accepts: (version: number) => boolean): Promise<DatabaseSync> {
  return openOrRelease(path, undefined, async (file, opened) => {
    const db = opened.use(connect(file, 'read'));
    await retryWhileBusy(() => refuseTruncated(db));
    db.exec('BEGIN');
    await retryWhileBusy(() => refuseOtherVersion(db, accepts));
    return db;
  });
}

/**
 * Copies all pages of a snapshot, ends it, and checks the copy.
 *
 * @throws {StorageSetupError} when the database is damaged
 * @throws the error of SQLite
 */
async function copySound(source: DatabaseSync, copy: string, report: (share: Share) => void): Promise<void> {
  let cause: unknown;
  try {
    await backup(source, copy, {
      rate: PAGES_PER_STEP,
      progress: ({ totalPages, remainingPages }) =>
        report({ done: totalPages - remainingPages, total: totalPages }),
    });
    // Ends the snapshot, which keeps the service from emptying its WAL.
    source.exec('ROLLBACK');
    using db = new DatabaseSync(copy);
    if (isSound(db)) return;
  } catch (error) {
    if (!isDamage(error)) throw error;
    cause = error;
  }
  throw new StorageSetupError(`the SQLite file ${fileOf(source)} is damaged; nothing was written`, { cause });
}

/** Leaves everything in one file, which is readable even on a read-only disk. Gives no id again after a restore. */
function completeCopy(file: string): void {
  using db = new DatabaseSync(file, { readBigInts: true });
  db.exec('PRAGMA journal_mode = DELETE');
  db.exec(ARCHIVE_STATEMENTS.createSequence);
  const next = lastId(db) + SKIPPED_PET_IDS;
  db.prepare(ARCHIVE_STATEMENTS.raiseSequence).run(next > MAX_PET_ID ? MAX_PET_ID : next);
}

function lastId(db: DatabaseSync): bigint {
  return integerIn(db.prepare(PET_STATEMENTS.lastId, { returnArrays: true }).get());
}

/**
 * A snapshot of a file that `backUp` has written.
 *
 * @throws {StorageSetupError}
 */
async function openBackup(path: string): Promise<DatabaseSync> {
  return openOrRelease(path, undefined, async (file, opened) => {
    const isAlone = !['-wal', '-journal'].some((suffix) => existsSync(file + suffix));
    // What is no database is refused when it is opened.
    if (!isAlone || fileFormatOf(file) === 2) {
      throw new StorageSetupError(
        `${file} is not a backup; make one of it with petstore backup --from sqlite:${file} NEW, and restore NEW`,
      );
    }
    const source = opened.use(await openSnapshot(file, hasSteps));
    const [problem] = schemaProblems(source);
    if (problem === undefined) return source;
    throw new StorageSetupError(`the SQLite file ${file} is damaged (${problem}); nothing was written`);
  });
}

/** For a shell. */
function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}
