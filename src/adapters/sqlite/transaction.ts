import type { DatabaseSync } from 'node:sqlite';

/** Commits all of the work durably, or none of it. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } finally {
    // SQLite itself rolls back after some errors: https://www.sqlite.org/lang_transaction.html
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}
