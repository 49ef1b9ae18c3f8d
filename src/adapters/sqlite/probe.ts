import type { DatabaseSync } from 'node:sqlite';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageProbe, StorageState } from '../../application/ports/storage-health.ts';
import type { DurableWrite } from './commit-queue.ts';
import { refuseOtherVersion, SCHEMA_VERSION } from './schema.ts';
import { PET_STATEMENTS } from './statements.ts';

/** How long a probe waits for the write lock, which a command holds for a moment, and for the disk. */
const PROBE_TIMEOUT_MS = 1_500;

/** Reads a random pet, too. In a large file its page is most likely not in the cache of the connection. */
const LAST_ID = `SELECT (${PET_STATEMENTS.lastId}) AS lastId, (SELECT id FROM pets
  WHERE id >= (SELECT abs(random() % (ifnull(max(id), 0) + 1)) FROM pets) ORDER BY id LIMIT 1)`;

/**
 * Takes an insert back. SQLite writes its pages with the commit all the same: on a disk that is almost full, one page
 * can have room where a pet has none. Without an id that is left, it inserts nothing.
 */
const TRIAL = `SAVEPOINT trial;
  INSERT OR IGNORE INTO pets (name, category_id, status, idempotency_key, fingerprint)
    VALUES ('trial', 0, 'available', randomblob(32), randomblob(32));
  ROLLBACK TO trial; RELEASE trial`;

/** Does what requests need: it reads a pet, and commits a write that changes nothing. */
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
