import type { DatabaseSync } from 'node:sqlite';
import { StorageSetupError, versionAdvice } from '../../application/ports/storage-errors.ts';
import { KEY_LABEL_MAX_LENGTH, SCOPES } from '../../domain/api-key.ts';
import { RATE_LIMIT_MAX } from '../../domain/rate-limit.ts';
import { MAX_PET_ID, PET_STATUSES } from '../../domain/pet.ts';
import { fileOf, sizeBytesOf, transaction } from './connection.ts';

/** "PETS" in ASCII: marks a file as ours. https://www.sqlite.org/pragma.html#pragma_application_id */
const APPLICATION_ID = 0x50455453n;

/** The version that this build reads and writes. A change that an older build cannot work with increments it. */
export const SCHEMA_VERSION = 4;

// AUTOINCREMENT never reuses an id, not even that of a deleted row. The greatest id of a pet is 2^53 - 1.
// The id is the rowid, and every SQLite index ends with the rowid, so both indexes are in the order of the id.
// The row itself holds the idempotency key of its insert: one write stores both, and both go together.
const PETS = `CREATE TABLE pets (
     id INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND ${MAX_PET_ID}),
     name TEXT NOT NULL,
     category_id INTEGER NOT NULL,
     status TEXT NOT NULL CHECK (status IN (${texts(PET_STATUSES)})),
     idempotency_key BLOB CHECK (length(idempotency_key) = 32),
     fingerprint BLOB CHECK (length(fingerprint) = 32), checksum INTEGER, idempotency_checksum INTEGER,
     CHECK ((idempotency_key IS NULL) = (fingerprint IS NULL))
   ) STRICT;
   CREATE INDEX pets_by_status ON pets (status);
   CREATE UNIQUE INDEX pets_by_idempotency_key ON pets (idempotency_key) WHERE idempotency_key IS NOT NULL;`;

const ORIGIN_ID = 'origin_id TEXT CHECK (length(origin_id) = 16)';

// Times are in milliseconds and in the range of a Date. The length of a TEXT is in code points.
const API_KEYS = `CREATE TABLE api_keys (
     id TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 16),
     digest BLOB NOT NULL CHECK (length(digest) = 32),
     label TEXT NOT NULL CHECK (length(label) BETWEEN 1 AND ${KEY_LABEL_MAX_LENGTH}),
     scopes TEXT NOT NULL
       CHECK (scopes IN (${texts(inEveryOrder(SCOPES))})),
     created_at INTEGER NOT NULL CHECK (abs(created_at) <= 8640000000000000),
     expires_at INTEGER CHECK (abs(expires_at) <= 8640000000000000),
     requests INTEGER CHECK (requests BETWEEN 1 AND ${RATE_LIMIT_MAX.requests}),
     seconds INTEGER CHECK (seconds BETWEEN 1 AND ${RATE_LIMIT_MAX.seconds}),
     revoked_at INTEGER CHECK (abs(revoked_at) <= 8640000000000000),
     last_used_at INTEGER CHECK (abs(last_used_at) <= 8640000000000000), checksum INTEGER, ${ORIGIN_ID},
     CHECK ((requests IS NULL) = (seconds IS NULL))
   ) STRICT, WITHOUT ROWID;`;

/** As a list of SQL. */
function texts(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(', ');
}

/** Some of the scopes or all of them, in every order. */
function inEveryOrder(scopes: readonly string[]): readonly string[] {
  const after = (first: string) => inEveryOrder(scopes.filter((scope) => scope !== first));
  return [...scopes, ...scopes.flatMap((first) => after(first).map((others) => `${first} ${others}`))];
}

/**
 * @returns 0 for an empty file
 * @throws {StorageSetupError} when the file belongs to another application
 * @throws the error of SQLite
 */
export function readVersion(db: DatabaseSync): number {
  // A single statement sees all of a schema that another process creates, or nothing of it.
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

/** @throws {StorageSetupError} when the file is empty, belongs to another application or has another schema version */
export function refuseOtherVersion(db: DatabaseSync, mayBeEmpty = false): void {
  const version = readVersion(db);
  if (version === SCHEMA_VERSION || (mayBeEmpty && version === 0)) return;
  const path = fileOf(db);
  const file = `the SQLite file ${path}`;
  if (version !== 0) throw new StorageSetupError(versionAdvice(file, version, SCHEMA_VERSION));
  // A file of one byte is empty for SQLite.
  if (sizeBytesOf(path) <= 1) throw new StorageSetupError(`${file} is empty; there is nothing to read`);
  throw new StorageSetupError(
    `${file} has no tables; put back its write-ahead log ${path}-wal if it was removed, or restore a backup`,
  );
}

/**
 * Creates the schema in an empty file, in one transaction.
 *
 * @throws {StorageSetupError} when the file belongs to another application or has another schema version
 * @throws the error of SQLite
 */
export function createSchema(db: DatabaseSync): void {
  transaction(db, () => {
    if (readVersion(db) === 0) db.exec(PETS + API_KEYS);
    else refuseOtherVersion(db);
    // Also when the schema is there: unlike BEGIN, this write fails on a read-only file.
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`);
  });
}
