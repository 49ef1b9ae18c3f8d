import { statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { unescape } from 'node:querystring';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { Opened, Purpose, StorageKind } from '../../application/storage-kind.ts';
import { setupError } from './errors.ts';
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
    if (!isThere(backup)) throw missing(backup);
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
  if (isThere(path)) return;
  refuseOtherThanPath(path);
  throw missing(path);
}

function missing(path: string): StorageSetupError {
  return new StorageSetupError(`there is no SQLite file ${resolve(path)}`);
}

/**
 * Refuses to create a database where a typing error is likely.
 *
 * @throws {StorageSetupError}
 */
function refuseMistyped(path: string): void {
  refuseAmbiguous(path);
  if (isThere(path)) return;
  const directory = dirname(resolve(path));
  if (path !== DEFAULT_SQLITE_PATH && !isThere(directory, path)) {
    throw new StorageSetupError(
      `there is no directory ${directory} for the SQLite file; correct the path or create the directory`,
    );
  }
  refuseOtherThanPath(path);
}

/**
 * @param file whose path it is, or is part of
 * @throws {StorageSetupError} when the system does not tell: EACCES, ENOTDIR, ENAMETOOLONG, ELOOP
 */
function isThere(path: string, file = path): boolean {
  try {
    // Not with `throwIfNoEntry: false`, which hides ENOTDIR too.
    statSync(resolve(path));
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw setupError(resolve(file), error);
  }
}

/** The line end of another system, a query, a comment, an escape, white space or quotation marks around the name. */
const OTHER_THAN_PATH = /[\p{Cc}?#]|%[\da-f]{2}|^[\s\p{Cf}"']|[\s\p{Cf}"']$/iu;

/**
 * Refuses a name that a person hardly gives to a new file. Whoever copies such a name would get another, empty database.
 *
 * @throws {StorageSetupError} which says what to write
 */
function refuseOtherThanPath(path: string): void {
  const name = basename(path);
  if (!OTHER_THAN_PATH.test(name)) return;
  const visible = name.replaceAll(/\p{C}|(?! )\s/gu, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`);
  const meant = unescape(name.replace(/[?#].*/s, '')).replaceAll(
    /\p{Cc}|^[\s\p{Cf}"']+|[\s\p{Cf}"']+$/gu,
    '',
  );
  throw new StorageSetupError(
    `there is no SQLite file "${visible}", and what follows sqlite: is a path without escapes, query or comment; ` +
      `write sqlite:${join(dirname(path), meant || 'PATH')}`,
  );
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
