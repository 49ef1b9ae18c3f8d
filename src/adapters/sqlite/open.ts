import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type {
  CheckableStorage,
  ServiceStorage,
  WritableStorage,
} from '../../application/ports/storage-kind.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageHost, StorageMeter } from '../../application/ports/storage-health.ts';
import { refuseNameBesideDatabase, resolveLinks } from '../files/database-files.ts';
import { createFile } from '../files/durable-files.ts';
import { SqliteApiKeyRepository } from './api-key-repository.ts';
import { CommitQueue, type DurableWrite } from './commit-queue.ts';
import { connect, fileOf, makeDurable, refuseTruncated, sizeBytesOf } from './connection.ts';
import { refuseDamaged, sqliteInspector } from './damage.ts';
import { endIfSyncFailed, retryAndTranslate, retryWhileBusy, setupError } from './errors.ts';
import { guardFiles } from './file-guard.ts';
import { LogDisk } from './log-disk.ts';
import { refuseMounted, warnIfUnfit } from './mounts.ts';
import { recoverLog } from './recover-log.ts';
import { serviceLockPath, takeServiceLock } from './service-lock.ts';
import { SqlitePetArchive } from './pet-archive.ts';
import { SqlitePetRepository } from './pet-repository.ts';
import { sqliteProbe } from './probe.ts';
import { ReadCache } from './read-cache.ts';
import { hasSteps, isCurrent, migrateSchema, readVersion, refuseOtherVersion } from './schema.ts';

export type SqliteStorage = ServiceStorage &
  WritableStorage & {
    /** The schema version before the start; `undefined` for a new file. */
    readonly versionBefore: number | undefined;
  };

export type OpenOptions = {
  readonly meter?: StorageMeter | undefined;
  /**
   * For commands that manage keys. They can work while a service runs: see
   * docs/explanation/group-commit.md#who-may-open-the-file.
   */
  readonly mayShare?: boolean;
  readonly migrates?: boolean;
};

/**
 * Opens the file for a program that writes, and creates a missing one.
 * docs/explanation/group-commit.md#who-may-open-the-file has the order of the steps.
 *
 * @throws {StorageSetupError} when the file cannot be used, or another service has it open
 * @throws {StorageUnavailable} when a file is removed during this call
 */
export async function openSqliteStorage(
  path: string,
  host: StorageHost,
  { meter, mayShare = false, migrates = false }: OpenOptions = {},
): Promise<SqliteStorage> {
  return openOrRelease(path, host, async (file, resources) => {
    await createFile(file);
    const { ino } = statSync(file, { bigint: true });
    const firstConnection = await connectFirst(file, resources, migrates);
    const lock = resources.use(await takeServiceLock(fileOf(firstConnection), mayShare));
    if (lock !== undefined) await recoverLog(firstConnection, host);
    // Opened after the lock, so that it is closed before the lock is released.
    const db = resources.use(connect(file, 'write'));
    const versionBefore = await retryWhileBusy(() => {
      refuseTruncated(db);
      makeDurable(db);
      const version = readVersion(db);
      if (version !== 0 && !mayShare) refuseDamaged(db);
      if (lock !== undefined) return migrateSchema(db);
      // This read creates the WAL, which the guard needs.
      refuseOtherVersion(db);
      return version;
    });
    if (versionBefore !== 0 && !isCurrent(versionBefore)) {
      host.warn(
        `${fileOf(db)} had schema version ${versionBefore} and was migrated; earlier releases refuse it now`,
      );
    }
    lock?.exec('ROLLBACK; BEGIN IMMEDIATE');
    const guard = guardFiles(db, host, ino, lock && serviceLockPath(fileOf(db)));
    const disk = lock && new LogDisk(db, host, meter);
    resources.defer(async () => disk?.close(guard.areInPlace()));
    const commits = new CommitQueue(db, { guard, disk, host, meter });
    resources.defer(() => commits.close());
    const cache = new ReadCache(db);
    warnIfUnfit(fileOf(db), host);
    return {
      versionBefore: versionBefore === 0 ? undefined : versionBefore,
      pets: new SqlitePetRepository(db, commits, cache),
      archive: new SqlitePetArchive(db, commits.write, cache),
      keys: new SqliteApiKeyRepository(db, commits.write),
      probe: sqliteProbe(db, commits.write),
      close: () => resources.disposeAsync(),
    };
  });
}

/**
 * Opens a read-only connection, even while a service runs: see docs/explanation/group-commit.md#who-may-open-the-file.
 *
 * @param mayBeDamaged true for a check. If false, a damaged file is refused
 * @throws {StorageSetupError} when the file is missing, cannot be read, or has another schema version
 */
export async function openSqliteForReading(path: string, mayBeDamaged = false): Promise<CheckableStorage> {
  return openOrRelease(path, undefined, async (file, resources) => {
    const isImmutable = mayBeDamaged && !existsSync(`${file}-wal`);
    const { mtimeNs } = statSync(file, { bigint: true });
    const db = resources.use(connect(file, isImmutable ? 'immutable' : 'read'));
    await retryWhileBusy(() => {
      refuseTruncated(db);
      refuseOtherVersion(db);
      if (!mayBeDamaged) refuseDamaged(db);
    });
    const keys = new SqliteApiKeyRepository(db, refuseWrite);
    const list = async () => {
      const listedKeys = await keys.list();
      if (isImmutable && statSync(file, { bigint: true }).mtimeNs !== mtimeNs) {
        throw new StorageUnavailable(`the SQLite file ${file} was changed during the check; run it again`);
      }
      return listedKeys;
    };
    const archive = new SqlitePetArchive(db, refuseWrite);
    return { archive, keys: { list }, inspector: sqliteInspector(db), close: () => resources.disposeAsync() };
  });
}

/** SQLite refuses every write on a read-only connection. */
const refuseWrite: DurableWrite = async (write) => retryAndTranslate(write);

/** If `open` fails, releases `resources` in reverse order, and translates the error. */
export async function openOrRelease<T>(
  path: string,
  host: StorageHost | undefined,
  open: (file: string, resources: AsyncDisposableStack) => Promise<T>,
): Promise<T> {
  // SQLite gives `:memory:` and `file:…?mode=memory` a special meaning. An absolute path has none.
  const file = resolve(path);
  const resources = new AsyncDisposableStack();
  try {
    refuseNameBesideDatabase(resolveLinks(file));
    return await open(file, resources);
  } catch (error) {
    if (host !== undefined) endIfSyncFailed(error, host);
    await resources.disposeAsync();
    throw setupError(file, error);
  }
}

/**
 * Refuses an unusable file before anything is written: see docs/explanation/group-commit.md#who-may-open-the-file.
 *
 * @throws {StorageSetupError} when the file cannot be written, belongs to another application or has another schema
 */
async function connectFirst(
  file: string,
  resources: AsyncDisposableStack,
  migrates: boolean,
): Promise<DatabaseSync> {
  const path = resolveLinks(file);
  // If there is a log, `recoverLog` applies the journal.
  const modeWithLog = existsSync(`${path}-journal`) ? 'immutable' : 'read';
  const db = resources.use(connect(file, sizeBytesOf(`${path}-wal`) > 0 ? modeWithLog : 'write'));
  refuseMounted(fileOf(db));
  // Checked before the first read, because the read may create files with the same permissions.
  accessSync(file, constants.W_OK);
  const accepts = (version: number) => version === 0 || (migrates ? hasSteps(version) : isCurrent(version));
  await retryWhileBusy(() => refuseOtherVersion(db, accepts));
  return db;
}
