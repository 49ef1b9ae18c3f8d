import type { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { NewPet } from '../../domain/pet.ts';
import { fileOf } from './connection.ts';
import { apiKeyChecksum, idempotencyChecksum, petChecksum } from './checksum.ts';
import { transaction } from './transaction.ts';

/** "PETS" in ASCII: marks a file as ours. https://www.sqlite.org/pragma.html#pragma_application_id */
const APPLICATION_ID = 0x50455453n;

/** Each migrates from the version that is its index to the next one. A released migration never changes. */
const MIGRATIONS = [
  // AUTOINCREMENT never reuses an id, not even that of a deleted row. The greatest id of a pet is 2^53 - 1.
  // The id is the rowid, and every SQLite index ends with the rowid, so both indexes are in the order of the id.
  // The row itself holds the idempotency key of its insert: one write stores both, and both go together.
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
  // Times are in milliseconds and in the range of a Date. The length of a TEXT is in code points.
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
  // A row with a value of another type gets no checksum: it is damaged. ALTER TABLE would refuse a table with one such
  // row, so this writes what it writes: https://www.sqlite.org/lang_altertable.html#making_other_kinds_of_table_schema_changes
  `PRAGMA writable_schema = ON;
   UPDATE sqlite_schema SET sql = replace(sql, 'fingerprint BLOB CHECK (length(fingerprint) = 32)',
     'fingerprint BLOB CHECK (length(fingerprint) = 32), checksum INTEGER, idempotency_checksum INTEGER')
     WHERE name = 'pets';
   UPDATE sqlite_schema SET sql = replace(sql, 'last_used_at INTEGER CHECK (abs(last_used_at) <= 8640000000000000)',
     'last_used_at INTEGER CHECK (abs(last_used_at) <= 8640000000000000), checksum INTEGER')
     WHERE name = 'api_keys';
   PRAGMA writable_schema = RESET;
   UPDATE pets SET
     checksum = pet_checksum(id, name, category_id, status),
     idempotency_checksum = idempotency_checksum(id, lower(hex(idempotency_key)), lower(hex(fingerprint)))
     WHERE typeof(name) = 'text' AND typeof(category_id) = 'integer' AND typeof(status) = 'text'
       AND typeof(idempotency_key) IN ('blob', 'null') AND typeof(fingerprint) IN ('blob', 'null');
   UPDATE api_keys SET checksum = api_key_checksum(id, lower(hex(digest)), label, scopes, created_at,
     expires_at, requests, seconds, revoked_at, last_used_at)
     WHERE typeof(id) = 'text' AND typeof(digest) = 'blob' AND typeof(label) = 'text' AND typeof(scopes) = 'text'
       AND typeof(created_at) = 'integer' AND typeof(expires_at) IN ('integer', 'null')
       AND typeof(requests) IN ('integer', 'null') AND typeof(seconds) IN ('integer', 'null')
       AND typeof(revoked_at) IN ('integer', 'null') AND typeof(last_used_at) IN ('integer', 'null');`,
  `PRAGMA writable_schema = ON;
   UPDATE sqlite_schema SET sql = replace(sql, 'checksum INTEGER',
     'checksum INTEGER, origin_id TEXT CHECK (length(origin_id) = 16)') WHERE name = 'api_keys';
   PRAGMA writable_schema = RESET;`,
] as const;

/** The version that this build reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * @returns 0 for an empty file
 * @throws {StorageSetupError} when the file belongs to another application
 * @throws the error of SQLite
 */
export function readVersion(db: DatabaseSync): number {
  // A single statement sees all of a migration by another process, or nothing of it.
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

/** One line that says what to do about the version, or `undefined` when this build can use it. */
export function versionProblem(db: DatabaseSync, version: number): string | undefined {
  if (version === SCHEMA_VERSION) return undefined;
  const is = `the SQLite file ${fileOf(db)} has schema version ${version}, this build needs ${SCHEMA_VERSION}`;
  return version < SCHEMA_VERSION
    ? `${is}; start the service once to migrate it`
    : `${is}; run a newer build of petstore`;
}

/**
 * Migrates the file to the schema of this build in one transaction.
 *
 * @throws {StorageSetupError} when the file belongs to another application or a newer build
 * @throws the error of SQLite
 */
export function migrate(db: DatabaseSync): void {
  transaction(db, () => {
    const version = readVersion(db);
    if (version > SCHEMA_VERSION) throw new StorageSetupError(versionProblem(db, version) ?? '');
    runMigrations(db, version);
    // Also when the schema is current: unlike BEGIN, this write fails on a read-only file.
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`);
  });
}

function runMigrations(db: DatabaseSync, version: number): void {
  defineChecksums(db);
  db.enableDefensive(false);
  for (const step of MIGRATIONS.slice(version)) db.exec(step);
  db.enableDefensive(true);
}

/** The functions that migrations call. */
function defineChecksums(db: DatabaseSync): void {
  const options = { useBigIntArguments: true };
  db.function('pet_checksum', options, (id, name, categoryId, status) =>
    petChecksum(id as bigint, { name, categoryId, status } as NewPet),
  );
  db.function('idempotency_checksum', options, (id, key, fingerprint) =>
    key === '' ? null : idempotencyChecksum(id as bigint, String(key), String(fingerprint)),
  );
  db.function('api_key_checksum', { ...options, varargs: true }, (...columns) =>
    apiKeyChecksum(columns as (string | bigint | null)[]),
  );
}
