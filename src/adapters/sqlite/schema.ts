import type { DatabaseSync } from 'node:sqlite';
import {
  FIRST_SCHEMA_VERSION,
  StorageSetupError,
  versionAdvice,
} from '../../application/ports/storage-errors.ts';
import { fileOf, sizeBytesOf, transaction } from './connection.ts';
import { reportsBrokenRule } from './errors.ts';

/** "PETS" in ASCII marks a file of petstore: https://www.sqlite.org/pragma.html#pragma_application_id */
const APPLICATION_ID = 0x50455453n;

// The schema of release 1.0.0, which never changes. `STEPS` makes later versions. The reasons for its details:
// docs/explanation/a-write-on-sqlite.md#the-table-and-its-statements.

const PETS = `CREATE TABLE pets (
     id INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 9007199254740991),
     name TEXT NOT NULL,
     category_id INTEGER NOT NULL,
     status TEXT NOT NULL CHECK (status IN ('available', 'pending', 'sold')),
     idempotency_key BLOB CHECK (length(idempotency_key) = 32),
     fingerprint BLOB CHECK (length(fingerprint) = 32), checksum INTEGER, idempotency_checksum INTEGER,
     CHECK ((idempotency_key IS NULL) = (fingerprint IS NULL))
   ) STRICT;
   CREATE INDEX pets_by_status ON pets (status);
   CREATE UNIQUE INDEX pets_by_idempotency_key ON pets (idempotency_key) WHERE idempotency_key IS NOT NULL;`;

const API_KEYS = `CREATE TABLE api_keys (
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
     last_used_at INTEGER CHECK (abs(last_used_at) <= 8640000000000000), checksum INTEGER, origin_id TEXT CHECK (length(origin_id) = 16),
     CHECK ((requests IS NULL) = (seconds IS NULL))
   ) STRICT, WITHOUT ROWID;`;

/**
 * The SQL from each schema version to the next one, beginning with {@link FIRST_SCHEMA_VERSION}. A released step never
 * changes: see docs/explanation/architecture.md#change-the-schema-of-a-storage.
 */
const STEPS: readonly string[] = [];

export const SCHEMA_VERSION = FIRST_SCHEMA_VERSION + STEPS.length;

/**
 * @returns 0 for an empty file
 * @throws {StorageSetupError} when the file belongs to another application
 */
export function readVersion(db: DatabaseSync): number {
  // One statement sees all or nothing of a schema that another process is creating.
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

export const isCurrent = (version: number) => version === SCHEMA_VERSION;

export const hasSteps = (version: number) => version >= FIRST_SCHEMA_VERSION && version <= SCHEMA_VERSION;

/**
 * @param accepts whether the caller can use a version; 0 is an empty file
 * @throws {StorageSetupError} when the caller cannot use the version, or the file belongs to another application
 */
export function refuseOtherVersion(db: DatabaseSync, accepts = isCurrent): void {
  const version = readVersion(db);
  if (accepts(version)) return;
  const path = fileOf(db);
  const file = `the SQLite file ${path}`;
  if (version !== 0) {
    const migration = `start the service on it, or run: petstore migrate sqlite:${path}`;
    throw new StorageSetupError(versionAdvice(file, version, SCHEMA_VERSION, migration));
  }
  // SQLite treats a file of one byte as empty.
  if (sizeBytesOf(path) <= 1) throw new StorageSetupError(`${file} is empty; there is nothing to read`);
  throw new StorageSetupError(
    `${file} has no tables; put back its write-ahead log ${path}-wal if it was removed, or restore a backup`,
  );
}

/**
 * Creates the schema, or applies the missing steps, in one transaction.
 *
 * @returns the version before: 0 for an empty file
 * @throws {StorageSetupError} when the file belongs to another application, or no steps lead from its version
 */
export function migrateSchema(db: DatabaseSync, to = SCHEMA_VERSION): number {
  return transaction(db, () => {
    const from = readVersion(db);
    if (from === 0) db.exec(PETS + API_KEYS);
    else refuseOtherVersion(db, hasSteps);
    const appliedSteps = Math.max(from - FIRST_SCHEMA_VERSION, 0);
    for (const step of STEPS.slice(appliedSteps, to - FIRST_SCHEMA_VERSION)) applyStep(db, step);
    // Always writes, because on a read-only file a write fails, but BEGIN succeeds.
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${to}`);
    return from;
  });
}

/** @throws {StorageSetupError} when a row breaks a rule: SQLite checks every row before it adds a column */
function applyStep(db: DatabaseSync, step: string): void {
  try {
    db.exec(step);
  } catch (error) {
    if (!reportsBrokenRule(error)) throw error;
    throw new StorageSetupError(
      `the SQLite file ${fileOf(db)} has a damaged record (${error.message}), and was not migrated; find the record with ` +
        'petstore check of the build before, and repair it',
      { cause: error },
    );
  }
}
