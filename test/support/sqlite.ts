import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { CommitQueue } from '../../src/adapters/sqlite/commit-queue.ts';
import { connect, makeDurable } from '../../src/adapters/sqlite/connection.ts';
import {
  openSqliteForReading,
  openSqliteStorage,
  type SqliteStorage,
} from '../../src/adapters/sqlite/open.ts';
import { migrateSchema } from '../../src/adapters/sqlite/schema.ts';
import type { ArchivedPet } from '../../src/application/ports/pet-archive.ts';
import type { CheckableStorage } from '../../src/application/ports/storage-kind.ts';
import type { ApiKey } from '../../src/domain/api-key.ts';
import type { StorageHost } from '../../src/application/ports/storage-health.ts';
import { type Program, run } from './process.ts';
import { storageHost } from './storage-host.ts';
import { testDirectory } from './test-directory.ts';

const WRITER = fileURLToPath(new URL('./sqlite-writer.ts', import.meta.url));

/** For tests that expect no warning and no end of the process. */
export const silentHost = storageHost();

/** Commits to files that the test leaves in place, and waits for each commit as a command does. */
export function commitsTo(
  db: DatabaseSync,
  options: Partial<ConstructorParameters<typeof CommitQueue>[1]> = {},
): CommitQueue {
  return new CommitQueue(db, { guard: { before() {}, after() {} }, host: silentHost, ...options });
}

/** Expects that a promise does not settle in a hundred turns. */
export async function expectPending(promise: Promise<unknown>): Promise<void> {
  let isSettled = false;
  const settle = () => (isSettled = true);
  promise.then(settle, settle);
  for (let n = 0; n < 100; n++) await turn();
  expect(isSettled).toBe(false);
}

/** What SQLite finds wrong in a whole file: `ok` if that is nothing. */
export function integrityOf(file: string): unknown {
  return otherConnection(file).prepare('PRAGMA integrity_check').get()!['integrity_check'];
}

/** A path for a database in a new directory, which the end of the test removes. */
export async function newFile(): Promise<string> {
  return join(await testDirectory(), 'petstore.db');
}

/** Waits for a storage to open, and closes it after the test. */
export async function closedAfterTest<T extends { close?(): Promise<void> }>(
  opening: Promise<T>,
): Promise<T> {
  const opened = await opening;
  onTestFinished(() => opened.close?.());
  return opened;
}

/** A service in this process, until the end of the test. */
export async function openService(file: string, host: StorageHost = silentHost): Promise<SqliteStorage> {
  return closedAfterTest(openSqliteStorage(file, host));
}

/** A service on a new file, until the end of the test. */
export async function newService(): Promise<SqliteStorage & { readonly file: string }> {
  const file = await newFile();
  return { file, ...(await openService(file)) };
}

/** What a command for keys works with. */
export async function openKeys(file: string): Promise<SqliteStorage> {
  return openSqliteStorage(file, silentHost, { mayShare: true });
}

/** What `check` works with. */
export async function openForChecking(file: string): Promise<CheckableStorage> {
  return openSqliteForReading(file, true);
}

/** Creates a file with the schema of this build and nothing else. */
export async function newDatabase(): Promise<{ readonly file: string; readonly db: DatabaseSync }> {
  const file = await newFile();
  await writeFile(file, '');
  const db = connect(file, 'write');
  onTestFinished(() => db.close());
  makeDurable(db);
  migrateSchema(db);
  return { file, db };
}

/** A closed file of this build. */
export async function fileWith(pets: readonly ArchivedPet[], ...stored: readonly ApiKey[]): Promise<string> {
  const file = await newFile();
  const { archive, keys, close } = await openSqliteStorage(file, silentHost);
  await archive.write(pets);
  for (const key of stored) await keys.insert(key);
  await close();
  return file;
}

/** A closed file that says that it has another schema version. */
export async function fileOfVersion(version: number): Promise<string> {
  const file = await fileWith([]);
  using db = new DatabaseSync(file);
  db.exec(`PRAGMA user_version = ${version}`);
  return file;
}

/** A connection of another program, until the end of the test. */
export function otherConnection(file: string, options: { readonly readOnly?: boolean } = {}): DatabaseSync {
  const db = new DatabaseSync(file, { readBigInts: true, ...options });
  onTestFinished(() => db[Symbol.dispose]());
  return db;
}

/** Another program that holds the lock for writes until it commits. */
export function writeLock(file: string): DatabaseSync {
  const other = otherConnection(file);
  other.exec('BEGIN IMMEDIATE');
  return other;
}

/** A service in another process. Each of its callers stores one pet after the other. */
export function writer(file: string, callers: number): Program {
  return run(process.execPath, [WRITER, file, `${callers}`]);
}

/** What a service leaves that is killed after this work. Its latest pets are in the log only. */
export async function killedAfter(work: (storage: SqliteStorage) => Promise<unknown>): Promise<string> {
  const { file, ...storage } = await newService();
  await work(storage);
  const image = await newFile();
  await copyFile(file, image);
  await copyFile(`${file}-wal`, `${image}-wal`);
  return image;
}

/** Moves the WAL into the file, as far as possible, and empties it. */
export function checkpoint(file: string): void {
  otherConnection(file).prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
}

/** How many pages of the log are in the database. */
export function checkpointed(db: DatabaseSync): bigint {
  const row = db.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { checkpointed: bigint };
  return row.checkpointed;
}

export function count(db: DatabaseSync): bigint {
  const { n } = db.prepare('SELECT count(*) AS n FROM pets').get() as { n: bigint };
  return n;
}

/**
 * The number of transactions in the write-ahead log. The last frame of a transaction has the size of the database, and
 * every valid frame has the salt of the log. https://www.sqlite.org/fileformat.html#the_write_ahead_log
 */
export async function commits(file: string): Promise<number> {
  const wal = await readFile(`${file}-wal`);
  const pageSize = wal.readUInt32BE(8);
  const salt = wal.readBigUInt64BE(16);
  let result = 0;
  for (let frame = 32; frame + 24 + pageSize <= wal.length; frame += 24 + pageSize) {
    if (wal.readBigUInt64BE(frame + 8) === salt && wal.readUInt32BE(frame + 4) > 0) result++;
  }
  return result;
}

/**
 * Changes rows as a failing disk might: the checks, the types and the NOT NULL of the tables do not apply. A service
 * may have the file open.
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
