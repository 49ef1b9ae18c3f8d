import { type BigIntStats, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { StorageHost } from '../../application/ports/storage-health.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { fileOf } from './connection.ts';
import { endIfSyncFailed } from './errors.ts';

const REFUSAL = 'writes are refused until this is fixed: ';

const LOCK_ADVICE =
  'another service may be using the file now; put it back, or stop both services and start one';

export type FileGuard = ReturnType<typeof guardFiles>;

/**
 * Refuses writes while a file of the database is missing: see docs/explanation/group-commit.md#who-may-open-the-file.
 *
 * @param db a connection that has read something, so that its WAL exists
 * @param ino the inode of the file before `db` was opened
 * @param lock the service lock, if this process holds it
 * @throws {StorageUnavailable} when a file is missing or was replaced
 */
export function guardFiles(db: DatabaseSync, host: StorageHost, ino: bigint, lock?: string) {
  const path = fileOf(db);
  const file = guardFile(
    path,
    `put it back under its name and leave ${path}-wal where it is (reads still work; on Linux the file can be ` +
      `copied from /proc/${process.pid}/fd while this process runs)`,
  );
  const wal = guardFile(`${path}-wal`, 'put it back, or stop the service with SIGTERM and start it again');
  const shm = guardFile(`${path}-shm`, 'put it back, or stop every program that has the file open');
  const files = [file, wal, shm, ...(lock === undefined ? [] : [guardFile(lock, LOCK_ADVICE)])];
  if (file.ino !== ino) throw new StorageUnavailable(`${path} was replaced while it was being opened`);
  let problem: string | undefined;

  /**
   * Call it between the flush and the acknowledgement of a write.
   *
   * @throws {StorageUnavailable} when a file is missing: the next start would not find the write
   */
  function after(): void {
    const missing = files.filter(({ isInPlace }) => !isInPlace());
    const faults = missing.length === 0 ? undefined : REFUSAL + missing.map(({ fault }) => fault).join('; ');
    if (faults !== problem) {
      problem = faults;
      host.warn(problem ?? `${path} and the files beside it are back in place: writes resume`);
      if (missing.length === 1 && missing[0] === wal) saveRemovedLog(db, host);
    }
    if (problem !== undefined) throw new StorageUnavailable(problem);
  }

  return {
    after,
    /** @throws {StorageUnavailable} while a file is known to be missing */
    before: () => (problem === undefined ? undefined : after()),
    /** False if another program may be using the open files under another name. */
    areInPlace: () => files.every(({ isInPlace }) => isInPlace()),
  };
}

/**
 * Moves the removed log, which is still open, into the database. Never throws, because after SQLITE_BUSY the caller
 * would repeat a committed write.
 */
function saveRemovedLog(db: DatabaseSync, host: StorageHost): void {
  let outcome = 'were';
  try {
    const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: bigint };
    if (busy !== 0n) outcome = 'could not be (another program has the file open)';
  } catch (error) {
    endIfSyncFailed(error, host);
    outcome = `could not be (${String(error)})`;
  }
  const file = fileOf(db);
  host.warn(`the contents of the removed write-ahead log ${file}-wal ${outcome} saved in ${file}`);
}

function guardFile(path: string, advice: string) {
  const stats = statOf(path);
  if (stats === undefined) throw new StorageUnavailable(`${path} was removed while it was being opened`);
  const isInPlace = () => {
    const { ino, dev } = statOf(path) ?? {};
    return ino === stats.ino && dev === stats.dev;
  };
  const fault = `${path} was removed, renamed or replaced: ${advice}`;
  return { ino: stats.ino, isInPlace, fault };
}

function statOf(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}
