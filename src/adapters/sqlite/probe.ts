import type { DatabaseSync } from 'node:sqlite';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageProbe, StorageState } from '../../application/ports/storage-health.ts';
import type { DurableWrite } from './commit-queue.ts';
import { refuseOtherVersion, SCHEMA_VERSION } from './schema.ts';
import { PET_STATEMENTS } from './statements.ts';

/** The longest wait for the disk, and for the write lock, which a command holds for a moment. */
const PROBE_TIMEOUT_MS = 1_500;

const LAST_ID = `SELECT (${PET_STATEMENTS.lastId}) AS lastId, (SELECT id FROM pets
  WHERE id >= (SELECT abs(random() % (ifnull(max(id), 0) + 1)) FROM pets) ORDER BY id LIMIT 1)`;

/** Inserts a pet and rolls the insert back, so that the commit writes the pages of an insert. */
const TRIAL = `SAVEPOINT trial;
  INSERT OR IGNORE INTO pets (name, category_id, status, idempotency_key, fingerprint)
    VALUES ('trial', 0, 'available', randomblob(32), randomblob(32));
  ROLLBACK TO trial; RELEASE trial`;

/**
 * Reads a pet, and commits a write that changes nothing.
 * docs/explanation/a-write-on-sqlite.md#the-table-and-its-statements has the reasons.
 */
export function sqliteProbe(db: DatabaseSync, write: DurableWrite): StorageProbe {
  const state = db.prepare(LAST_ID);
  const readAndWrite = () => {
    refuseOtherVersion(db);
    const { lastId } = state.get() as StorageState;
    // SQLite writes the page even though the value stays the same.
    db.exec(`${TRIAL}; PRAGMA user_version = ${SCHEMA_VERSION}`);
    return { lastId };
  };
  return {
    check: async () =>
      write(readAndWrite, PROBE_TIMEOUT_MS).catch((cause: Error) => {
        throw cause instanceof StorageUnavailable ? cause : new StorageUnavailable(cause.message, { cause });
      }),
  };
}
