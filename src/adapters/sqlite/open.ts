import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { PetArchive, ReadablePetArchive } from '../../application/ports/pet-archive.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { StorageLog } from '../../application/ports/storage-log.ts';
import type { StorageProbe } from '../../application/ports/storage-probe.ts';
import { SqliteApiKeyRepository } from './api-key-repository.ts';
import { whenFree } from './busy.ts';
import { connect, fileOf, makeDurable, refuseReadOnly, refuseTruncated } from './connection.ts';
import { setupError } from './errors.ts';
import { InsertQueue } from './insert-queue.ts';
import { takeLock } from './lock.ts';
import { markLog } from './log-mark.ts';
import { makeFile } from './make-file.ts';
import { OpenFiles } from './open-files.ts';
import { ReadableSqlitePetArchive, SqlitePetArchive } from './pet-archive.ts';
import { SqlitePetRepository } from './pet-repository.ts';
import { SqliteProbe } from './probe.ts';
import { refuseForeignLog } from './refuse-foreign-log.ts';
import { migrate, readVersion, SCHEMA_VERSION, versionProblem } from './schema.ts';

export type SqliteStorage = {
  readonly pets: PetRepository;
  readonly archive: PetArchive;
  readonly keys: ApiKeyRepository;
  readonly probe: StorageProbe;
  /** Waits for the inserts that are under way. */
  close(): Promise<void>;
};

const NO_LOG: StorageLog = { warn: () => {} };

/**
 * Opens the file for a service, makes it and its directory where there is none, and brings its schema up to date.
 *
 * @throws {StorageSetupError} also when another service has it open
 */
export async function openSqliteStorage(path: string, log: StorageLog = NO_LOG): Promise<SqliteStorage> {
  return opening(path, async (file, opened) => {
    const db = await connectToOurs(file, opened);
    // To be released last, when the connection is closed.
    const lock = await lockAndMigrate(db, opened);
    const files = new OpenFiles(db, log, { holdsLock: true });
    const { guard } = files;
    const inserts = new InsertQueue(db, { guard });
    return {
      pets: new SqlitePetRepository(db, inserts),
      archive: new SqlitePetArchive(db, guard),
      keys: new SqliteApiKeyRepository(db, { guard }),
      probe: new SqliteProbe(db, guard),
      async close() {
        await inserts.close();
        await files.close();
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
    const files = new OpenFiles(db, NO_LOG, { holdsLock: false });
    return {
      keys: new SqliteApiKeyRepository(db, { guard: files.guard }),
      async close() {
        await files.close();
        db[Symbol.dispose]();
      },
    };
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
    await whenFree(() => refuseForeignLog(fileOf(db)));
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
  makeFile(file);
  const db = opened.use(connect(file, { readOnly: false }));
  refuseReadOnly(db);
  // This connection has read nothing yet, so that it would leave the log as it is if it were closed now.
  await whenFree(() => refuseForeignLog(fileOf(db)));
  // Before anything is written into or beside what may be the file of another application.
  await whenFree(() => readVersion(db));
  return db;
}

/** @returns the lock, to be released by whoever needs it no longer */
async function lockAndMigrate(db: DatabaseSync, opened: DisposableStack): Promise<DatabaseSync> {
  const lock = opened.use(await takeLock(fileOf(db)));
  await makeSafe(db);
  await whenFree(() => migrate(db));
  await whenFree(() => markLog(db, fileOf(db)));
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
