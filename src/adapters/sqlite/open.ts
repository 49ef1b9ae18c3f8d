import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Opened } from '../../application/storage-kind.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageLog, StorageMeter } from '../../application/ports/storage-health.ts';
import { refuseNameBesideDatabase, resolveLinks } from '../files/database-files.ts';
import { createFile } from '../files/durable-files.ts';
import { SqliteApiKeyRepository } from './api-key-repository.ts';
import { CommitQueue, type DurableWrite } from './commit-queue.ts';
import { connect, emptyLog, fileOf, makeDurable, refuseTruncated } from './connection.ts';
import { refuseDamaged, sqliteInspector } from './damage.ts';
import { retryAndTranslate, retryWhileBusy, setupError } from './errors.ts';
import { FileGuard } from './file-guard.ts';
import { LogDisk } from './log-disk.ts';
import { refuseMounted, warnIfUnfit } from './mounts.ts';
import { serviceLockPath, takeServiceLock } from './service-lock.ts';
import { SqlitePetArchive } from './pet-archive.ts';
import { SqlitePetRepository } from './pet-repository.ts';
import { sqliteProbe } from './probe.ts';
import { ReadCache } from './read-cache.ts';
import { createSchema, readVersion, refuseOtherVersion } from './schema.ts';

/** What a service works with, and what a command that writes pets works with. */
export type SqliteStorage = Opened['service'] & Opened['writing'];

/**
 * Opens the file for a service or a command, and holds its service lock. Creates the file and its directory if they are
 * missing. A service leaves every wait for the disk to threads. A command commits in place.
 *
 * @param log of a service; absent for a command, which reports failures as errors
 * @param meter absent when nothing is measured
 * @throws {StorageSetupError} when the file cannot be used, or another service has it open
 * @throws {StorageUnavailable} when a file is removed in the meantime
 */
export async function openSqliteStorage(
  path: string,
  log?: StorageLog,
  meter?: StorageMeter,
): Promise<SqliteStorage> {
  return openOrRelease(path, async (file, opened) => {
    const { db, ino } = await connectForWriting(file, opened);
    opened.use(await takeServiceLock(fileOf(db)));
    // Once more, to be closed before the lock: the next service should find a closed file.
    opened.use(db);
    await prepareForWrites(db);
    await retryWhileBusy(() => emptyLog(db));
    await retryWhileBusy(() => createSchema(db));
    await retryWhileBusy(() => refuseDamaged(db));
    const guard = new FileGuard(db, log, ino, serviceLockPath(fileOf(db)));
    // From now on no commit waits for the disk, but for the first one in the log.
    if (log !== undefined) db.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0');
    const disk = log && new LogDisk(db, guard.walIno, log);
    opened.defer(async () => disk?.close());
    // Before the thread of the checkpoints: the last one to close the file empties its log.
    opened.use(db);
    const commits = new CommitQueue(db, { guard, disk, log, meter });
    opened.defer(() => commits.close());
    const cache = new ReadCache(db);
    if (log !== undefined) warnIfUnfit(fileOf(db), log);
    return {
      pets: new SqlitePetRepository(db, commits, cache),
      archive: new SqlitePetArchive(db, commits.write, cache),
      keys: new SqliteApiKeyRepository(db, commits.write),
      probe: sqliteProbe(db, commits.write),
      close: () => opened.disposeAsync(),
    };
  });
}

/**
 * Opens the API keys of the file, even while a service has it open. Creates a missing file as a service would, because
 * an operator may make keys before the first start. If a service starts meanwhile, one of both creates the schema.
 *
 * @throws {StorageSetupError} when the file cannot be used
 * @throws {StorageUnavailable} when a file is removed in the meantime
 */
export async function openSqliteKeys(path: string): Promise<Opened['keys']> {
  return openOrRelease(path, async (file, opened) => {
    const { db, ino, isEmpty } = await connectForWriting(file, opened);
    await prepareForWrites(db);
    if (isEmpty) await retryWhileBusy(() => createSchema(db));
    // Reads once more, because the guard needs the WAL, which the first read in WAL mode creates.
    await retryWhileBusy(() => refuseOtherVersion(db));
    // A checkpoint beside the commits of a service could lose what the service has acknowledged: see `LogDisk`.
    db.exec('PRAGMA wal_autocheckpoint = 0');
    const guard = new FileGuard(db, undefined, ino);
    const commits = new CommitQueue(db, { guard });
    opened.defer(() => commits.close());
    return {
      keys: new SqliteApiKeyRepository(db, commits.write),
      close: () => opened.disposeAsync(),
    };
  });
}

/**
 * Opens a read-only connection to the file, with or without a service beside it.
 *
 * @throws {StorageSetupError} when the file is missing, cannot be used, or has another schema version
 */
export async function openSqliteForReading(path: string): Promise<Opened['reading']> {
  return openOrRelease(path, async (file, opened) => {
    const db = opened.use(connect(file, 'read'));
    await retryWhileBusy(() => refuseOtherVersion(db));
    await retryWhileBusy(() => refuseDamaged(db));
    return readersOf(db, opened);
  });
}

/**
 * Opens a read-only connection to examine the file. A connection to a file in WAL mode creates a `-wal` and a `-shm` if
 * they are missing. If there is no WAL, this one ignores them: nothing is created, even in a directory that may be
 * written.
 *
 * @throws {StorageSetupError} when the file is missing, cannot be read, or has another schema version
 */
export async function openSqliteForChecking(path: string): Promise<Opened['checking']> {
  return openOrRelease(path, async (file, opened) => {
    const immutable = !existsSync(`${file}-wal`);
    const { mtimeNs } = statSync(file, { bigint: true });
    const db = opened.use(connect(file, immutable ? 'immutable' : 'read'));
    await retryWhileBusy(() => refuseTruncated(db));
    await retryWhileBusy(() => refuseOtherVersion(db));
    const readers = readersOf(db, opened);
    // The last read of a check.
    const list = async () => {
      const found = await readers.keys.list();
      if (immutable && statSync(file, { bigint: true }).mtimeNs !== mtimeNs) {
        throw new StorageUnavailable(`the SQLite file ${file} was changed during the check; run it again`);
      }
      return found;
    };
    return { ...readers, keys: { list }, inspector: sqliteInspector(db) };
  });
}

/** SQLite refuses every write on a read-only connection. */
const refusedWrite: DurableWrite = async (write) => retryAndTranslate(write);

function readersOf(db: DatabaseSync, opened: AsyncDisposableStack): Opened['reading'] {
  return {
    archive: new SqlitePetArchive(db, refusedWrite),
    keys: new SqliteApiKeyRepository(db, refusedWrite),
    close: () => opened.disposeAsync(),
  };
}

/** If `open` fails, releases what it has added to `opened`, the last first, and translates the error. */
export async function openOrRelease<T>(
  path: string,
  open: (file: string, opened: AsyncDisposableStack) => Promise<T>,
): Promise<T> {
  // SQLite gives `:memory:` and `file:…?mode=memory` a special meaning. An absolute path has none.
  const file = resolve(path);
  const opened = new AsyncDisposableStack();
  try {
    refuseNameBesideDatabase(resolveLinks(file));
    return await open(file, opened);
  } catch (error) {
    await opened.disposeAsync();
    throw setupError(file, error);
  }
}

/**
 * Creates an empty file if there is none. Writes nothing into an existing file, nor beside it.
 *
 * @returns the connection, and the inode that had the name of the file before it was opened
 * @throws {StorageSetupError} when the file cannot be written, belongs to another application or has another schema
 */
async function connectForWriting(file: string, opened: AsyncDisposableStack) {
  await createFile(file);
  const { ino } = statSync(file, { bigint: true });
  const db = opened.use(connect(file, 'write'));
  refuseMounted(fileOf(db));
  // Before the first read: SQLite gives the files beside the database the same permissions. If they were created
  // read-only, they would still stop the service after the database itself has become writable.
  accessSync(file, constants.W_OK);
  const isEmpty = (await retryWhileBusy(() => readVersion(db))) === 0;
  if (!isEmpty) await retryWhileBusy(() => refuseOtherVersion(db));
  return { db, ino, isEmpty };
}

async function prepareForWrites(db: DatabaseSync): Promise<void> {
  await retryWhileBusy(() => refuseTruncated(db));
  await retryWhileBusy(() => makeDurable(db));
  // 16 MiB at most, instead of 2, for filtered pages of a large catalogue.
  db.exec('PRAGMA cache_size = -16384');
}
