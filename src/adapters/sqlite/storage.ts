import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { PersistentStorage, StorageKind } from '../../application/ports/storage.ts';
import { mountWarning } from './mounts.ts';

/** The path of the default database. Its directory is created on use. */
export const DEFAULT_SQLITE_PATH = './data/petstore.db';

/** Pets and API keys in a SQLite file. */
export const sqliteStorage: StorageKind = {
  urlForm: 'sqlite:PATH',
  persistent: true,
  parseUrl(url) {
    const path = /^sqlite:(.+)/s.exec(url)?.[1];
    return path === undefined ? undefined : sqliteFile(path);
  },
};

/** The adapter is loaded when the file is opened. */
function sqliteFile(path: string): PersistentStorage {
  return {
    persistent: true,
    shared: false,
    async openForService({ log, meter }) {
      refuseMistyped(path);
      const { openSqliteStorage } = await import('./open.ts');
      const storage = await openSqliteStorage(path, log, meter);
      const warning = mountWarning(path);
      if (warning !== undefined) log.warn(warning);
      return storage;
    },
    async openForReading() {
      refuseMissing(path);
      const { openSqliteForReading } = await import('./open.ts');
      return openSqliteForReading(path);
    },
    async openForChecking() {
      refuseMissing(path);
      const { openSqliteForChecking } = await import('./open.ts');
      return openSqliteForChecking(path);
    },
    async openForWriting() {
      refuseMistyped(path);
      const { openSqliteStorage } = await import('./open.ts');
      return openSqliteStorage(path);
    },
    async openKeys({ mayCreate }) {
      if (mayCreate) refuseMistyped(path);
      else refuseMissing(path);
      const { openSqliteKeys } = await import('./open.ts');
      return openSqliteKeys(path);
    },
    async backUp(target, onProgress) {
      refuseMissing(path);
      const { backUp } = await import('./backup.ts');
      await backUp(path, target, onProgress);
    },
    async restore(backup, onProgress) {
      refuseMistyped(path);
      refuseMissing(backup);
      const { restore } = await import('./backup.ts');
      return restore(path, backup, onProgress);
    },
  };
}

/** @throws {StorageSetupError} */
function refuseMissing(path: string): void {
  refuseAmbiguous(path);
  if (!existsSync(path)) throw new StorageSetupError(`there is no SQLite file ${resolve(path)}`);
}

/**
 * Refuses to create a database where a typing error is likely.
 *
 * @throws {StorageSetupError}
 */
function refuseMistyped(path: string): void {
  refuseAmbiguous(path);
  const directory = dirname(resolve(path));
  if (path !== DEFAULT_SQLITE_PATH && !existsSync(directory)) {
    throw new StorageSetupError(
      `there is no directory ${directory} for the SQLite file; correct the path or create the directory`,
    );
  }
}

/**
 * After `sqlite:///`, some programs expect a relative path and others an absolute one. `:memory:` would be a file.
 *
 * @throws {StorageSetupError}
 */
function refuseAmbiguous(path: string): void {
  if (path.startsWith('//')) {
    throw new StorageSetupError(
      `sqlite:${path} is ambiguous; write sqlite:relative/path.db or sqlite:/absolute/path.db`,
    );
  }
  if (path === ':memory:') throw new StorageSetupError('sqlite::memory: is not a file; write memory:');
}
