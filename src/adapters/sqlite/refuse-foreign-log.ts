import { statSync } from 'node:fs';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { connect } from './connection.ts';
import { isDamage } from './errors.ts';
import { isLocked } from './lock.ts';
import { isForeignLog } from './log-mark.ts';
import { readVersion } from './schema.ts';

/** A value that breaks a rule of its table: found again when the row is read, and no reason not to serve the others. */
export const ROW_FINDING = /^(?:NULL|non-\w+|TEXT|NUMERIC) value in |^CHECK constraint failed in /;

/**
 * Refuses a file that does not fit the write-ahead log beside it, as when a backup has been put over a file whose service
 * had crashed: SQLite would mix the two. A service that runs has a log as well, and has looked itself. To be called
 * before a connection that may write has read anything. The connection here only reads: file and log stay as they are, and
 * a refused file can still be used.
 *
 * Reads the whole file where there is a log, which is after a crash: `quick_check` takes a seventh of the time of
 * `integrity_check`, which also compares every index with its table.
 *
 * @param file from `fileOf`: the log is beside the file itself, not beside a symbolic link
 * @throws {StorageSetupError}
 */
export function refuseForeignLog(file: string): void {
  const bytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0 || isLocked(file)) return;
  using db = connect(file, { readOnly: true });
  const version = readOrRefuse(file, () => readVersion(db));
  if (version === 0) return;
  const isDamaged = readOrRefuse(file, () => {
    const findings = db.prepare('PRAGMA quick_check').all() as { quick_check: string }[];
    const isSound = findings.every(({ quick_check: text }) => text === 'ok' || ROW_FINDING.test(text));
    return !isSound || isForeignLog(db, file);
  });
  if (isDamaged) throw misfit(file);
}

function readOrRefuse<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw isDamage(error) ? misfit(file, error) : error;
  }
}

function misfit(file: string, cause?: unknown): StorageSetupError {
  return new StorageSetupError(
    `the SQLite file ${file} does not fit its log ${file}-wal; if the file was restored from a backup, remove ` +
      `${file}-wal and ${file}-shm and start again, else restore a backup`,
    { cause },
  );
}
