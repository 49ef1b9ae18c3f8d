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

/** 4 MiB. After each step the backup reports its progress, and can be interrupted. */
const PAGES_PER_STEP = 1024;

type OnCopied = (progress: Omit<Progress, 'doing'>) => void;

/**
 * Copies the database to one new file, even while a service writes. The copy gets its name when it is complete, sound
 * and on the disk. docs/decisions.md has the reasons ("A backup of SQLite").
 *
 * @param onProgress may throw to stop the backup
 */
export async function backUp(path: string, target: string, onProgress: OnProgress): Promise<void> {
  // Accepts any build, because every version has the necessary tables.
  using source = await openSnapshot(path, (version) => version !== 0);
  await writeNewFile(target, async (partial) => {
    await copyAndCheck(source, partial, (pages) => onProgress({ doing: 'backing up', ...pages }));
    completeCopy(partial);
  });
}

/**
 * Restores a backup to a path without a database.
 *
 * @returns the id after which the ids of new pets begin
 * @throws {StorageSetupError} also when a part of a database exists, or a service uses the path
 */
export async function restore(to: string, from: string, onProgress: OnProgress): Promise<bigint> {
  return openOrRelease(to, undefined, async () => {
    const file = resolveLinks(to);
    using source = await openBackup(from);
    await createDirectory(dirname(file));
    // Refused while a service runs: the service would go on writing to a database that is moved away.
    using _ = await takeServiceLock(file);
    await writeWholeFile(file, {
      check: refuseExisting,
      write: (copy) => copyAndCheck(source, copy, (pages) => onProgress({ doing: 'restoring', ...pages })),
    });
    return lastId(source);
  });
}

/** @throws {StorageSetupError} with the command that moves the database and its log away */
function refuseExisting(file: string): void {
  const files = ['', '-wal', '-journal'].map((suffix) => file + suffix).filter((path) => existsSync(path));
  if (files.length === 0) return;
  const target = shellQuoted(`${file}.before-restore-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`);
  throw new StorageSetupError(
    `${files[0]} exists, and restore replaces nothing; keep the service from starting, and move the old database away: ` +
      `mkdir ${target} && mv ${files.map(shellQuoted).join(' ')} ${target}`,
  );
}

/** @throws {StorageSetupError} */
async function openSnapshot(path: string, accepts: (version: number) => boolean): Promise<DatabaseSync> {
  return openOrRelease(path, undefined, async (file, resources) => {
    const db = resources.use(connect(file, 'read'));
    await retryWhileBusy(() => refuseTruncated(db));
    db.exec('BEGIN');
    await retryWhileBusy(() => refuseOtherVersion(db, accepts));
    return db;
  });
}

async function copyAndCheck(source: DatabaseSync, copy: string, onCopied: OnCopied): Promise<void> {
  let cause: unknown;
  try {
    await backup(source, copy, {
      rate: PAGES_PER_STEP,
      progress: ({ totalPages, remainingPages }) =>
        onCopied({ done: totalPages - remainingPages, total: totalPages }),
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

/**
 * Makes the copy one file, readable even on a read-only disk. Skips ids, so that after a restore no id is assigned a
 * second time.
 */
function completeCopy(file: string): void {
  using db = new DatabaseSync(file, { readBigInts: true });
  db.exec('PRAGMA journal_mode = DELETE');
  db.exec(ARCHIVE_STATEMENTS.createSequence);
  const lastSkippedId = lastId(db) + SKIPPED_PET_IDS;
  db.prepare(ARCHIVE_STATEMENTS.raiseSequence).run(lastSkippedId > MAX_PET_ID ? MAX_PET_ID : lastSkippedId);
}

function lastId(db: DatabaseSync): bigint {
  return integerIn(db.prepare(PET_STATEMENTS.lastId, { returnArrays: true }).get());
}

/** @throws {StorageSetupError} when the file is not one that {@link backUp} has written */
async function openBackup(path: string): Promise<DatabaseSync> {
  return openOrRelease(path, undefined, async (file, resources) => {
    const isAlone = !['-wal', '-journal'].some((suffix) => existsSync(file + suffix));
    // `openSnapshot` below refuses a file that is no database.
    if (!isAlone || fileFormatOf(file) === 2) {
      throw new StorageSetupError(
        `${file} is not a backup; make a backup of this file with petstore backup --from sqlite:${file} NEW, and restore NEW`,
      );
    }
    const source = resources.use(await openSnapshot(file, hasSteps));
    const [problem] = schemaProblems(source);
    if (problem === undefined) return source;
    throw new StorageSetupError(`the SQLite file ${file} is damaged (${problem}); nothing was written`);
  });
}

function shellQuoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}
