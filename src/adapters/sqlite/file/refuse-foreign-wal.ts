import { statSync } from 'node:fs';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { connect } from '../connection.ts';
import { isDamage } from '../errors.ts';
import { readVersion } from '../schema.ts';
import { isLockedByService } from './service-lock.ts';
import { isForeignWal } from './wal-mark.ts';

/** A value that breaks a rule of its table. Reading its row reports the damage, so the other rows can be served. */
export const ROW_FINDING = /^(?:NULL|non-\w+|TEXT|NUMERIC) value in |^CHECK constraint failed in /;

/**
 * Refuses a file that does not match the write-ahead log (WAL) beside it. SQLite would mix the two. It happens when an
 * operator copies a backup over the file of a crashed service. The check is skipped while a service is running, because
 * that service has done it.
 *
 * Call it before a connection that may write has read anything. This function uses a read-only connection, which
 * changes neither the file nor the WAL, so a refused file is still usable.
 *
 * A WAL without a service means a crash, and then this function reads the whole file. `quick_check` takes a seventh of
 * the time of `integrity_check`, which also compares every index with its table.
 *
 * @param file the result of `fileOf`: the WAL is beside the file itself, not beside a symbolic link
 * @throws {StorageSetupError}
 * @throws the error of SQLite or `node:fs`
 */
export function refuseForeignWal(file: string): void {
  const walBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes === 0 || isLockedByService(file)) return;
  using db = connect(file, { readOnly: true });
  const version = readOrRefuse(file, () => readVersion(db));
  if (version === 0) return;
  const isForeign = readOrRefuse(file, () => {
    const findings = db.prepare('PRAGMA quick_check').all() as { quick_check: string }[];
    const isSound = findings.every(({ quick_check: text }) => text === 'ok' || ROW_FINDING.test(text));
    return !isSound || isForeignWal(db, file);
  });
  if (isForeign) throw mismatch(file);
}

function readOrRefuse<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw isDamage(error) ? mismatch(file, error) : error;
  }
}

function mismatch(file: string, cause?: unknown): StorageSetupError {
  return new StorageSetupError(
    `the SQLite file ${file} does not match its write-ahead log ${file}-wal; if the file was restored from a backup, ` +
      `remove ${file}-wal and ${file}-shm and start again; otherwise restore a backup`,
    { cause },
  );
}
