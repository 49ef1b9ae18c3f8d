import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { Opened, Purpose, StorageKind } from '../../application/storage-kind.ts';
import { mountWarning } from './mounts.ts';

/** The path of the default database. Its directory is created on use. */
export const DEFAULT_SQLITE_PATH = './data/petstore.db';

/** Pets and API keys in a SQLite file. The adapter is loaded when the file is opened. */
export const sqliteStorage: StorageKind<false> = {
  name: 'SQLite',
  system: 'sqlite',
  urlForm: 'sqlite:PATH',
  persistent: true,
  shared: false,
  isUrl: (url) => /^sqlite:./s.test(url),
  async open<P extends Purpose>(url: string, purpose: P) {
    const path = pathIn(url);
    if (mayCreate(purpose)) refuseMistyped(path);
    else refuseMissing(path);
    const name: P['for'] = purpose.for;
    return openers(path, purpose)[name]();
  },
  async backUp(url, target, onProgress) {
    const path = pathIn(url);
    refuseMissing(path);
    const { backUp } = await import('./backup.ts');
    await backUp(path, target, onProgress);
  },
  async restore(url, backup, onProgress) {
    const path = pathIn(url);
    refuseMistyped(path);
    refuseMissing(backup);
    const { restore } = await import('./backup.ts');
    return restore(path, backup, onProgress);
  },
};

function openers(
  path: string,
  purpose: Purpose,
): { readonly [Name in keyof Opened]: () => Promise<Opened[Name]> } {
  const { log, meter } = purpose.for === 'service' ? purpose : {};
  const openForWriting = async () => {
    const { openSqliteStorage } = await import('./open.ts');
    const storage = await openSqliteStorage(path, log, meter);
    const warning = log && mountWarning(path);
    if (warning !== undefined) log?.warn(warning);
    return storage;
  };
  return {
    service: openForWriting,
    writing: openForWriting,
    reading: async () => (await import('./open.ts')).openSqliteForReading(path),
    checking: async () => (await import('./open.ts')).openSqliteForChecking(path),
    keys: async () => (await import('./open.ts')).openSqliteKeys(path),
  };
}

function mayCreate(purpose: Purpose): boolean {
  if (purpose.for === 'keys') return purpose.mayCreate;
  return purpose.for === 'service' || purpose.for === 'writing';
}

function pathIn(url: string): string {
  return url.slice('sqlite:'.length);
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
