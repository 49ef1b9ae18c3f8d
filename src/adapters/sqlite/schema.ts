import type { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { fileOf } from './connection.ts';

/** Marks a file as ours ("PETS"): https://www.sqlite.org/pragma.html#pragma_application_id */
const APPLICATION_ID = 0x50455453n;

/** Each brings the schema from the version that is its index to the next. Written once, never changed afterwards. */
const MIGRATIONS = [
  // AUTOINCREMENT gives no id twice, not even that of a row that was deleted. 2^53 - 1 is the greatest id of a pet.
  // Every index of SQLite ends with the rowid, which the id is, so that both indexes are in the order of the id.
  // The idempotency of an insert is in the row itself: the same write, and gone with it.
  `CREATE TABLE pets (
     id INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 9007199254740991),
     name TEXT NOT NULL,
     category_id INTEGER NOT NULL,
     status TEXT NOT NULL CHECK (status IN ('available', 'pending', 'sold')),
     idempotency_key BLOB CHECK (length(idempotency_key) = 32),
     fingerprint BLOB CHECK (length(fingerprint) = 32),
     CHECK ((idempotency_key IS NULL) = (fingerprint IS NULL))
   ) STRICT;
   CREATE INDEX pets_by_status ON pets (status);
   CREATE UNIQUE INDEX pets_by_idempotency_key ON pets (idempotency_key) WHERE idempotency_key IS NOT NULL;`,
  // Times are in milliseconds, within what a Date can be. The length of a text is in code points.
  `CREATE TABLE api_keys (
     id TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 16),
     digest BLOB NOT NULL CHECK (length(digest) = 32),
     label TEXT NOT NULL CHECK (length(label) BETWEEN 1 AND 64),
     scopes TEXT NOT NULL
       CHECK (scopes IN ('pets:read', 'pets:write', 'pets:read pets:write', 'pets:write pets:read')),
     created_at INTEGER NOT NULL CHECK (abs(created_at) <= 8640000000000000),
     expires_at INTEGER CHECK (abs(expires_at) <= 8640000000000000),
     requests INTEGER CHECK (requests BETWEEN 1 AND 1000000000),
     seconds INTEGER CHECK (seconds BETWEEN 1 AND 86400),
     revoked_at INTEGER CHECK (abs(revoked_at) <= 8640000000000000),
     last_used_at INTEGER CHECK (abs(last_used_at) <= 8640000000000000),
     CHECK ((requests IS NULL) = (seconds IS NULL))
   ) STRICT, WITHOUT ROWID;`,
] as const;

/** What this build reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * @returns 0 for an empty file
 * @throws {StorageSetupError} when the file belongs to another application
 */
export function readVersion(db: DatabaseSync): number {
  // One statement, so that a migration elsewhere is seen as a whole or not at all.
  const { id, version, objects } = db
    .prepare(
      `SELECT application_id AS id, user_version AS version, (SELECT count(*) FROM sqlite_schema) AS objects
       FROM pragma_application_id, pragma_user_version`,
    )
    .get() as { id: bigint; version: bigint; objects: bigint };
  const isEmpty = id === 0n && version === 0n && objects === 0n;
  if (id !== APPLICATION_ID && !isEmpty) {
    throw new StorageSetupError(
      `the SQLite file ${fileOf(db)} belongs to another application; choose another path`,
    );
  }
  return Number(version);
}

/** What to do about a version, in one line, or `undefined` when it is the one that this build needs. */
export function versionProblem(db: DatabaseSync, version: number): string | undefined {
  if (version === SCHEMA_VERSION) return undefined;
  const is = `the SQLite file ${fileOf(db)} has schema version ${version}, this build needs ${SCHEMA_VERSION}`;
  return version < SCHEMA_VERSION
    ? `${is}; start the service once to bring it up to date`
    : `${is}; run a newer build of petstore`;
}

/**
 * Brings the file to the schema of this build, as a whole or not at all.
 *
 * @throws {StorageSetupError} when the file belongs to another application or a newer build
 */
export function migrate(db: DatabaseSync): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    const version = readVersion(db);
    if (version > SCHEMA_VERSION) throw new StorageSetupError(versionProblem(db, version) ?? '');
    for (const step of MIGRATIONS.slice(version)) db.exec(step);
    // Also where nothing has changed, because it fails on a file that can only be read, which BEGIN does not.
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
  } finally {
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}
