import { existsSync, statSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import type { OnProgress, Progress } from '../../application/ports/pet-archive.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { MAX_PET_ID, SKIPPED_PET_IDS } from '../../domain/pet.ts';
import { fileFormatOf, resolveLinks } from '../files/database-files.ts';
import { createDirectory, sync, writeNewFile, writeWholeFile } from '../files/durable-files.ts';
import { connect, fileOf, refuseTruncated } from './connection.ts';
import { isSound, schemaProblems } from './damage.ts';
import { isDamage, retryWhileBusy } from './errors.ts';
import { openOrRelease } from './open.ts';
import { refuseOtherVersion } from './schema.ts';
import { takeServiceLock } from './service-lock.ts';
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
 */
export async function backUp(path: string, target: string, onProgress: OnProgress): Promise<void> {
  using source = await openSnapshot(path);
  await writeNewFile(target, async (partial) => {
    await copySound(source, partial, 'backing up', onProgress);
    completeCopy(partial);
  });
}

/**
 * Puts a backup in the place of a database, or where there is none. What it replaces is kept under another name.
 *
 * A crash leaves the old database, the new one, or a state that `connect` refuses: the old one with a second name, or
 * the new one in rollback mode beside the old WAL. From each, another restore succeeds. What is kept is complete before
 * anything is removed. The old WAL goes last: a start would take a missing file without a WAL for a new database.
 *
 * @returns the new name of the old database; `undefined` when there was none
 */
export async function restore(to: string, from: string, onProgress: OnProgress): Promise<string | undefined> {
  return openOrRelease(to, async () => {
    const file = resolveLinks(to);
    refuseOtherThanBackup(resolveLinks(from), file);
    using source = await openSnapshot(from);
    refuseOtherSchema(source);
    await createDirectory(dirname(file));
    using _ = await takeServiceLock(file);
    let replaced: readonly string[] = [];
    const kept = `${file}.before-restore-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`;
    const partial = `${file}.restoring`;
    await using undo = new AsyncDisposableStack();
    await writeWholeFile(file, {
      partial,
      // What a killed restore has left. This one holds the lock.
      check: () => rm(partial, { force: true }),
      write: (copy) => copySound(source, copy, 'restoring', onProgress),
      async beforeRename() {
        // Not earlier: a command may have written keys meanwhile.
        replaced = ['', '-wal', '-journal'].filter((suffix) => existsSync(file + suffix));
        for (const suffix of replaced) {
          await link(file + suffix, kept + suffix);
          // Unless it is the last name of its file.
          undo.defer(() => (statSync(kept + suffix).nlink > 1 ? rm(kept + suffix) : undefined));
        }
        await sync(dirname(file));
        // SQLite would roll it back into the new file.
        await rm(`${file}-journal`, { force: true });
      },
    });
    undo.move();
    for (const suffix of ['-wal', '-shm']) await rm(file + suffix, { force: true });
    await sync(dirname(file));
    return replaced.length === 0 ? undefined : kept;
  });
}

/**
 * A connection that sees the database as it is now, until it is closed.
 *
 * @throws {StorageSetupError}
 */
async function openSnapshot(path: string): Promise<DatabaseSync> {
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
async function copySound(
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

/** @throws {StorageSetupError} */
function refuseOtherThanBackup(from: string, file: string): void {
  const [old, other] = [statSync(file, { throwIfNoEntry: false }), statSync(from)];
  if (old?.ino === other.ino && old.dev === other.dev) {
    throw new StorageSetupError(`${from} is the database itself; choose a backup`);
  }
  const isAlone = !['-wal', '-journal'].some((suffix) => existsSync(from + suffix));
  // What is no database is refused when it is opened.
  if (isAlone && fileFormatOf(from) !== 2) return;
  throw new StorageSetupError(
    `${from} is not a backup; make one of it with petstore backup --from sqlite:${from} NEW, and restore NEW`,
  );
}

/** @throws {StorageSetupError} */
function refuseOtherSchema(source: DatabaseSync): void {
  const [problem] = schemaProblems(source);
  if (problem === undefined) return;
  throw new StorageSetupError(
    `the SQLite file ${fileOf(source)} is damaged (${problem}); nothing was written`,
  );
}
