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

/** A host that ignores warnings, and throws an error where a storage would end the process. */
export const silentHost = storageHost();

/** A commit queue for a file that the test neither moves nor removes. By default each commit waits for the disk. */
export function newCommitQueue(
  db: DatabaseSync,
  options: Partial<ConstructorParameters<typeof CommitQueue>[1]> = {},
): CommitQueue {
  return new CommitQueue(db, { guard: { before() {}, after() {} }, host: silentHost, ...options });
}

/** Expects that a promise does not settle within a hundred turns of the event loop. */
export async function expectPending(promise: Promise<unknown>): Promise<void> {
  let isSettled = false;
  const settle = () => (isSettled = true);
  promise.then(settle, settle);
  for (let n = 0; n < 100; n++) await turn();
  expect(isSettled).toBe(false);
}

/** The result of the integrity check of SQLite for a whole file: `ok`, or a text about the damage. */
export function integrityOf(file: string): unknown {
  return otherConnection(file).prepare('PRAGMA integrity_check').get()!['integrity_check'];
}

/** The path for a database in a new directory. The directory is removed at the end of the test. */
export async function newPath(): Promise<string> {
  return join(await testDirectory(), 'petstore.db');
}

/** Waits for a storage to open, and closes it after the test. */
export async function closeAfterTest<T extends { close?(): Promise<void> }>(opening: Promise<T>): Promise<T> {
  const opened = await opening;
  onTestFinished(() => opened.close?.());
  return opened;
}

/** Opens the storage of a service in this process. It is closed at the end of the test. */
export async function openService(file: string, host: StorageHost = silentHost): Promise<SqliteStorage> {
  return closeAfterTest(openSqliteStorage(file, host));
}

/** Opens the storage of a service on a new file. It is closed at the end of the test. */
export async function newService(): Promise<SqliteStorage & { readonly file: string }> {
  const file = await newPath();
  return { file, ...(await openService(file)) };
}

/** Opens the storage as a command for API keys does, which may run beside a service. */
export async function openKeys(file: string): Promise<SqliteStorage> {
  return openSqliteStorage(file, silentHost, { mayShare: true });
}

/** Opens the storage as the command `check` does. */
export async function openForChecking(file: string): Promise<CheckableStorage> {
  return openSqliteForReading(file, true);
}

/** Creates a file that contains only the schema of this build. */
export async function newDatabase(): Promise<{ readonly file: string; readonly db: DatabaseSync }> {
  const file = await newPath();
  await writeFile(file, '');
  const db = connect(file, 'write');
  onTestFinished(() => db.close());
  makeDurable(db);
  migrateSchema(db);
  return { file, db };
}

/** Creates a file of this build with these pets and API keys, and closes it. */
export async function fileWith(pets: readonly ArchivedPet[], ...apiKeys: readonly ApiKey[]): Promise<string> {
  const file = await newPath();
  const { archive, keys, close } = await openSqliteStorage(file, silentHost);
  await archive.write(pets);
  for (const key of apiKeys) await keys.insert(key);
  await close();
  return file;
}

/** Creates a file that has the schema of this build but the number of another schema version, and closes it. */
export async function fileOfVersion(version: number): Promise<string> {
  const file = await fileWith([]);
  using db = new DatabaseSync(file);
  db.exec(`PRAGMA user_version = ${version}`);
  return file;
}

/** Opens a connection as another program would. It is closed at the end of the test. */
export function otherConnection(file: string, options: { readonly readOnly?: boolean } = {}): DatabaseSync {
  const db = new DatabaseSync(file, { readBigInts: true, ...options });
  onTestFinished(() => db[Symbol.dispose]());
  return db;
}

/** Opens a connection as another program would. It holds the lock for writes until it commits. */
export function takeWriteLock(file: string): DatabaseSync {
  const other = otherConnection(file);
  other.exec('BEGIN IMMEDIATE');
  return other;
}

/** Starts a service in another process. Each of its callers stores one pet after the other. */
export function startWriter(file: string, callers: number): Program {
  return run(process.execPath, [WRITER, file, `${callers}`]);
}

/** Returns a copy of the file of a service that is killed after `work`. Its latest pets are only in the WAL. */
export async function fileAfterKill(work: (storage: SqliteStorage) => Promise<unknown>): Promise<string> {
  const { file, ...storage } = await newService();
  await work(storage);
  const image = await newPath();
  await copyFile(file, image);
  await copyFile(`${file}-wal`, `${image}-wal`);
  return image;
}

/** Copies the write-ahead log (WAL) into the file as far as possible. Empties the log if all of it was copied. */
export function checkpoint(file: string): void {
  otherConnection(file).prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
}

/** How many pages of the write-ahead log have been copied into the database file. */
export function copiedPages(db: DatabaseSync): bigint {
  const row = db.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { checkpointed: bigint };
  return row.checkpointed;
}

export function countPets(db: DatabaseSync): bigint {
  const { n } = db.prepare('SELECT count(*) AS n FROM pets').get() as { n: bigint };
  return n;
}

/**
 * The number of transactions in the write-ahead log. The last frame of a transaction contains the size of the database.
 * Every valid frame contains the salt of the log. https://www.sqlite.org/fileformat.html#the_write_ahead_log
 */
export async function countCommits(file: string): Promise<number> {
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
 * Runs SQL that changes rows as a failing disk might. CHECK constraints, column types and NOT NULL do not apply to it.
 * A service may have the file open at the same time.
 */
export function damage(file: string, sql: string): void {
  const changeSchema = (change: string) => {
    using db = new DatabaseSync(file, { timeout: 1_000 });
    // https://www.sqlite.org/pragma.html#pragma_writable_schema
    db.enableDefensive(false);
    db.exec(`PRAGMA writable_schema = ON; ${change}; PRAGMA writable_schema = RESET`);
  };
  changeSchema(`CREATE TABLE damage_kept AS SELECT name, sql FROM sqlite_schema;
    UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), 'NOT NULL', '')
      WHERE type = 'table' AND name IN ('pets', 'api_keys')`);
  {
    using db = new DatabaseSync(file, { timeout: 1_000 });
    db.exec(`PRAGMA ignore_check_constraints = ON; ${sql}`);
  }
  changeSchema(`UPDATE sqlite_schema SET sql = (SELECT k.sql FROM damage_kept k WHERE k.name = sqlite_schema.name)
      WHERE type = 'table' AND name IN ('pets', 'api_keys');
    DROP TABLE damage_kept`);
}
