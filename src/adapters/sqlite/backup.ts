import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { MAX_PET_ID, SKIPPED_PET_IDS } from '../../domain/pet.ts';
import type { OnProgress, Progress } from '../../application/ports/pet-archive.ts';
import { refuseDatabaseFile } from '../files/database-files.ts';
import { writeWholeFile } from '../files/write-whole-file.ts';
import { connect, fileOf, refuseTruncated } from './connection.ts';
import { isSound } from './damage.ts';
import { isDamage } from './errors.ts';
import { openOrRelease } from './open.ts';
import { retryWhileBusy } from './retry-while-busy.ts';
import { refuseOtherVersion } from './schema.ts';
import { ARCHIVE_WRITES, INSERT_STATEMENTS } from './statements.ts';

/** 4 MiB. Between two steps, the backup reports its progress and can be interrupted. */
const PAGES_PER_STEP = 1024;

/**
 * Copies the database to a new file, even while a service writes to it. The copy is one self-contained file in rollback
 * mode. It gets its name once it is complete, checked for damage and on the disk. New ids in the copy start 10^12 after
 * its last one: see {@link SKIPPED_PET_IDS}.
 *
 * All pages come from one snapshot. Without a snapshot, SQLite would start again after every commit of another process:
 * https://www.sqlite.org/c3ref/backup_finish.html#sqlite3backupstep
 * `VACUUM INTO` also reads one snapshot, but it blocks the event loop to its end and takes about twice the CPU time.
 *
 * @param path of the database
 * @param target a path that does not exist
 * @param onProgress may throw to stop the backup
 * @throws {StorageSetupError} when the database is missing, damaged or of another application or build, or when the target cannot
 *   be written
 */
export async function backUp(path: string, target: string, onProgress: OnProgress): Promise<void> {
  const copy = resolve(target);
  using source = await openSnapshot(path);
  await writeWholeFile(copy, {
    check(file) {
      // Not existsSync, which reports a dangling symbolic link as absent.
      const isThere = lstatSync(copy, { throwIfNoEntry: false }) !== undefined;
      if (isThere) throw new StorageSetupError(`${copy} exists; choose another FILE`);
      refuseDatabaseFile(file);
    },
    async write(partial) {
      await copySound(source, partial, 'backing up', onProgress);
      completeCopy(partial);
    },
  });
}

/**
 * A connection that sees the database as it is now, until it is closed.
 *
 * @throws {StorageSetupError}
 */
export async function openSnapshot(path: string): Promise<DatabaseSync> {
  return openOrRelease(path, async (file, opened) => {
    const db = opened.use(connect(file, { readOnly: true }));
    await retryWhileBusy(() => refuseTruncated(db));
    db.exec('BEGIN');
    await retryWhileBusy(() => refuseOtherVersion(db));
    return db;
  });
}

/**
 * Copies all pages of a snapshot, ends it, and checks the copy.
 *
 * @throws {StorageSetupError} when the database is damaged
 * @throws the error of SQLite
 */
export async function copySound(
  source: DatabaseSync,
  copy: string,
  doing: Progress['doing'],
  onProgress: OnProgress,
): Promise<void> {
  let cause: unknown;
  try {
    await backup(source, copy, {
      rate: PAGES_PER_STEP,
      progress: ({ totalPages, remainingPages }) =>
        onProgress({ doing, done: totalPages - remainingPages, total: totalPages }),
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
  db.exec(ARCHIVE_WRITES.createSequence);
  const { id } = db.prepare(INSERT_STATEMENTS.lastId).get() as { id: bigint };
  const next = id + SKIPPED_PET_IDS;
  db.prepare(ARCHIVE_WRITES.raiseSequence).run(next > MAX_PET_ID ? MAX_PET_ID : next);
}
