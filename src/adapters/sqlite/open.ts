import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { StorageSetupError, StorageUnavailable } from '../../application/errors.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { PetArchive, ReadablePetArchive } from '../../application/ports/pet-archive.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { StorageProbe } from '../../application/ports/storage-probe.ts';
import { SqliteApiKeyRepository } from './api-key-repository.ts';
import { whenFree } from './busy.ts';
import { connect, fileOf, makeDurable, refuseReadOnly, refuseTruncated } from './connection.ts';
import { setupError } from './errors.ts';
import { InsertQueue } from './insert-queue.ts';
import { takeLock } from './lock.ts';
import { ReadableSqlitePetArchive, SqlitePetArchive } from './pet-archive.ts';
import { SqlitePetRepository } from './pet-repository.ts';
import { migrate, readVersion, SCHEMA_VERSION, versionProblem } from './schema.ts';

export type SqliteStorage = {
  readonly pets: PetRepository;
  readonly archive: PetArchive;
  readonly keys: ApiKeyRepository;
  readonly probe: StorageProbe;
  /** Waits for the inserts that are under way. */
  close(): Promise<void>;
};

/**
 * Opens the file for a service, makes it and its directory where there is none, and brings its schema up to date.
 *
 * @throws {StorageSetupError} also when another service has it open
 */
export async function openSqliteStorage(path: string): Promise<SqliteStorage> {
  return opening(path, async (file, opened) => {
    const db = await connectToOurs(file, opened);
    // To be released last, when the connection is closed.
    const lock = await lockAndMigrate(db, opened);
    const inserts = new InsertQueue(db);
    return {
      pets: new SqlitePetRepository(db, inserts),
      archive: new SqlitePetArchive(db),
      keys: new SqliteApiKeyRepository(db),
      probe: { check: async () => check(db) },
      async close() {
        await inserts.close();
        db[Symbol.dispose]();
        lock[Symbol.dispose]();
      },
    };
  });
}

export type SqliteKeys = {
  readonly keys: ApiKeyRepository;
  close(): Promise<void>;
};

/**
 * Opens the API keys of the file, whether or not a service has it open. Where there is none, makes it as a service
 * would: keys may come before the first start.
 *
 * @throws {StorageSetupError} also when the schema is older while a service has it open
 */
export async function openSqliteKeys(path: string): Promise<SqliteKeys> {
  return opening(path, async (file, opened) => {
    const db = await connectToOurs(file, opened);
    const version = await whenFree(() => readVersion(db));
    if (version < SCHEMA_VERSION) await migrateUnlessOthersDo(db, opened);
    else await makeSafe(db);
    refuseOtherVersion(db, await whenFree(() => readVersion(db)));
    return { keys: new SqliteApiKeyRepository(db), close: async () => db[Symbol.dispose]() };
  });
}

/** A catalogue that can be read while a service has it open, and while none has. */
export type SqliteReading = {
  readonly pets: Pick<PetRepository, 'findById' | 'list'>;
  readonly archive: ReadablePetArchive;
  readonly keys: Pick<ApiKeyRepository, 'findById' | 'list'>;
  close(): Promise<void>;
};

/** @throws {StorageSetupError} also when there is no such file, or its schema is not that of this build */
export async function openSqliteForReading(path: string): Promise<SqliteReading> {
  return opening(path, async (file, opened) => {
    const db = opened.use(connect(file, { readOnly: true }));
    refuseOtherVersion(db, await whenFree(() => readVersion(db)));
    return {
      pets: new SqlitePetRepository(db, new InsertQueue(db)),
      archive: new ReadableSqlitePetArchive(db),
      keys: new SqliteApiKeyRepository(db),
      close: async () => db[Symbol.dispose](),
    };
  });
}

/** What is in the stack is closed when the rest fails, and left open when all went well. */
async function opening<T>(
  path: string,
  open: (file: string, opened: DisposableStack) => Promise<T>,
): Promise<T> {
  // Absolute, so that neither `:memory:` nor `file:…?mode=memory` means something else than a file of that name.
  const file = resolve(path);
  using opened = new DisposableStack();
  try {
    const result = await open(file, opened);
    opened.move();
    return result;
  } catch (error) {
    throw setupError(file, error);
  }
}

/** A connection that may write. Makes an empty file where there is none, and nothing beside it. */
async function connectToOurs(file: string, opened: DisposableStack): Promise<DatabaseSync> {
  mkdirSync(dirname(file), { recursive: true });
  const db = opened.use(connect(file, { readOnly: false }));
  refuseReadOnly(db);
  // Before anything is written into or beside what may be the file of another application.
  await whenFree(() => readVersion(db));
  return db;
}

/** @returns the lock, to be released by whoever needs it no longer */
async function lockAndMigrate(db: DatabaseSync, opened: DisposableStack): Promise<DatabaseSync> {
  const lock = opened.use(await takeLock(fileOf(db)));
  await makeSafe(db);
  await whenFree(() => migrate(db));
  return lock;
}

/** A service that starts at this moment holds the lock, and brings the schema up to date as well. */
async function migrateUnlessOthersDo(db: DatabaseSync, opened: DisposableStack): Promise<void> {
  try {
    const lock = await lockAndMigrate(db, opened);
    lock[Symbol.dispose]();
  } catch (error) {
    if ((await whenFree(() => readVersion(db))) < SCHEMA_VERSION) throw error;
    await makeSafe(db);
  }
}

async function makeSafe(db: DatabaseSync): Promise<void> {
  await whenFree(() => refuseTruncated(db));
  await whenFree(() => makeDurable(db));
}

function refuseOtherVersion(db: DatabaseSync, version: number): void {
  const problem = versionProblem(db, version);
  if (problem !== undefined) throw new StorageSetupError(problem);
}

function check(db: DatabaseSync): void {
  let problem: string | undefined;
  try {
    problem = versionProblem(db, readVersion(db));
  } catch (error) {
    throw new StorageUnavailable('the SQLite file cannot be read', { cause: error });
  }
  if (problem !== undefined) throw new StorageUnavailable(problem);
}
