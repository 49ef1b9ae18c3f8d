import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { ArchivedPet } from '../../src/application/ports/pet-archive.ts';
import { type Program, run } from './process.ts';

const WRITER = fileURLToPath(new URL('./sqlite-writer.ts', import.meta.url));
const KEY_WRITER = fileURLToPath(new URL('./sqlite-key-writer.ts', import.meta.url));

/** A path for a database, in a directory of its own that goes with the test. */
export async function newFile(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-sqlite-'));
  onTestFinished(async () => rm(directory, { recursive: true, force: true }));
  return join(directory, 'petstore.db');
}

/** What the first version was: no build may read another meaning into it. */
const VERSION_1 = `CREATE TABLE pets (
     id INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 9007199254740991),
     name TEXT NOT NULL,
     category_id INTEGER NOT NULL,
     status TEXT NOT NULL CHECK (status IN ('available', 'pending', 'sold')),
     idempotency_key BLOB CHECK (length(idempotency_key) = 32),
     fingerprint BLOB CHECK (length(fingerprint) = 32),
     CHECK ((idempotency_key IS NULL) = (fingerprint IS NULL))
   ) STRICT;
   CREATE INDEX pets_by_status ON pets (status);
   CREATE UNIQUE INDEX pets_by_idempotency_key ON pets (idempotency_key) WHERE idempotency_key IS NOT NULL;
   PRAGMA application_id = 0x50455453; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;`;

/** A file as the first build left it. */
export async function fileOfVersion1(pets: readonly ArchivedPet[]): Promise<string> {
  const file = await newFile();
  using db = new DatabaseSync(file);
  db.exec(VERSION_1);
  const insert = db.prepare('INSERT INTO pets VALUES (?, ?, ?, ?, ?, ?)');
  for (const { id, name, categoryId, status, idempotency } of pets) {
    const [key, fingerprint] =
      idempotency === undefined
        ? [null, null]
        : [Buffer.from(idempotency.key, 'hex'), Buffer.from(idempotency.fingerprint, 'hex')];
    insert.run(id, name, categoryId, status, key, fingerprint);
  }
  return file;
}

/** Another program that has the file open. */
export function stranger(file: string, options: { readonly readOnly?: boolean } = {}): DatabaseSync {
  const db = new DatabaseSync(file, { readBigInts: true, ...options });
  onTestFinished(() => db[Symbol.dispose]());
  return db;
}

/** Another service, which stores pets for as many callers, one after the other each, until it is killed. */
export function writer(file: string, callers: number): Program {
  return run(process.execPath, [WRITER, file, `${callers}`]);
}

/** A command that makes and revokes keys, one after the other, until it is killed. */
export function keyWriter(file: string): Program {
  return run(process.execPath, [KEY_WRITER, file]);
}

export function count(db: DatabaseSync): bigint {
  const { n } = db.prepare('SELECT count(*) AS n FROM pets').get() as { n: bigint };
  return n;
}

/**
 * How many transactions are in the write-ahead log: the frames that end one carry the size of the database, and the
 * frames of this log carry its salt. https://www.sqlite.org/fileformat.html#the_write_ahead_log
 */
export async function commits(file: string): Promise<number> {
  const log = await readFile(`${file}-wal`);
  const pageSize = log.readUInt32BE(8);
  const salt = log.readBigUInt64BE(16);
  let result = 0;
  for (let frame = 32; frame + 24 + pageSize <= log.length; frame += 24 + pageSize) {
    if (log.readBigUInt64BE(frame + 8) === salt && log.readUInt32BE(frame + 4) > 0) result++;
  }
  return result;
}

/**
 * Changes rows as a failing disk might: past the checks, the types and the NOT NULL of the tables, while a service may
 * have the file open.
 */
export function damage(file: string, sql: string): void {
  const schema = (change: string) => {
    using db = new DatabaseSync(file, { timeout: 1_000 });
    // https://www.sqlite.org/pragma.html#pragma_writable_schema
    db.enableDefensive(false);
    db.exec(`PRAGMA writable_schema = ON; ${change}; PRAGMA writable_schema = RESET`);
  };
  schema(`CREATE TABLE damage_kept AS SELECT name, sql FROM sqlite_schema;
    UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), 'NOT NULL', '')
      WHERE type = 'table' AND name IN ('pets', 'api_keys')`);
  {
    using db = new DatabaseSync(file, { timeout: 1_000 });
    db.exec(`PRAGMA ignore_check_constraints = ON; ${sql}`);
  }
  schema(`UPDATE sqlite_schema SET sql = (SELECT k.sql FROM damage_kept k WHERE k.name = sqlite_schema.name)
      WHERE type = 'table' AND name IN ('pets', 'api_keys');
    DROP TABLE damage_kept`);
}
