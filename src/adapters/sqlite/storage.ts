import { statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { unescape } from 'node:querystring';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { StorageHost } from '../../application/ports/storage-health.ts';
import type { StorageKind } from '../../application/ports/storage-kind.ts';
import { setupError } from './errors.ts';
import type { OpenOptions } from './open.ts';

/** The directory is created together with the file. */
export const DEFAULT_SQLITE_PATH = './data/petstore.db';

export const sqliteStorage: StorageKind = {
  name: 'SQLite',
  system: 'sqlite',
  urlForm: 'sqlite:PATH',
  persistent: true,
  shared: false,
  isUrl: (url) => /^sqlite:./s.test(url),
  urlProblem: (url) =>
    PATH.test(url) ? `is a path; did you mean ${url.replace(PATH, 'sqlite:$1')}?` : undefined,
  openService: (url, { log, meter }) => openForWriting(url, true, log, { meter, migrates: true }),
  openForReading: (url) => openForReading(url, false),
  openForChecking: (url) => openForReading(url, true),
  openForWriting: (url, log) => openForWriting(url, true, log),
  openKeys: (url, { log, mayCreate }) => openForWriting(url, mayCreate, log, { mayShare: true }),
  async migrate(url, log) {
    const storage = await openForWriting(url, false, log, { migrates: true });
    await storage.close();
    const { SCHEMA_VERSION } = await import('./schema.ts');
    return { database: url.slice('sqlite:'.length), from: storage.versionBefore, to: SCHEMA_VERSION };
  },
  async backUp(url, target, onProgress) {
    const path = pathIn(url, false);
    await (await import('./backup.ts')).backUp(path, target, onProgress);
  },
  async restore(url, backup, onProgress) {
    const path = pathIn(url, true);
    if (isAbsent(backup)) throw missingFile(backup);
    return (await import('./backup.ts')).restore(path, backup, onProgress);
  },
};

async function openForWriting(url: string, mayCreate: boolean, host: StorageHost, options?: OpenOptions) {
  const path = pathIn(url, mayCreate);
  return (await import('./open.ts')).openSqliteStorage(path, host, options);
}

async function openForReading(url: string, mayBeDamaged: boolean) {
  const path = pathIn(url, false);
  return (await import('./open.ts')).openSqliteForReading(path, mayBeDamaged);
}

/**
 * Matches a path without `sqlite:`, or with the scheme of another program. The refusal quotes the path, so no text with
 * a password may match: no `@` and no `:`.
 */
const PATH = /^(?:(?:sqlite3|file):(?:\/\/)?)?(\.{0,2}\/[\w./ -]+|[\w./ -]+\.(?:db|sqlite3?))$/i;

/** Matches a control character, a query, a comment, an escape, or white space or a quotation mark at an end. */
const OTHER_THAN_PATH = /[\p{Cc}?#]|%[\da-f]{2}|^[\s\p{Cf}"']|[\s\p{Cf}"']$/iu;

/**
 * Refuses a path that may lead to the wrong database: programs disagree about `sqlite:///`, `:memory:` would be a file,
 * and a missing directory is probably mistyped. An existing file is opened, whatever its name is.
 *
 * @throws {StorageSetupError}
 */
function pathIn(url: string, mayCreate: boolean): string {
  const path = url.slice('sqlite:'.length);
  if (path.startsWith('//')) {
    // The message does not quote the URL, because other programs have a password here.
    throw new StorageSetupError(
      'sqlite:// is ambiguous; write sqlite:relative/path.db or sqlite:/absolute/path.db',
    );
  }
  if (path === ':memory:') throw new StorageSetupError('sqlite::memory: is not a file; write memory:');
  if (!isAbsent(path)) return path;
  const directory = dirname(resolve(path));
  if (mayCreate && path !== DEFAULT_SQLITE_PATH && isAbsent(directory)) {
    throw new StorageSetupError(
      `there is no directory ${directory} for the SQLite file; correct the path or create the directory`,
    );
  }
  if (OTHER_THAN_PATH.test(basename(path))) throw new StorageSetupError(correctionOf(path));
  if (!mayCreate) throw missingFile(path);
  return path;
}

function correctionOf(path: string): string {
  const name = basename(path);
  const visibleName = name.replaceAll(/\p{C}|(?! )\s/gu, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`);
  const meantName = unescape(name.replace(/[?#].*/s, '')).replaceAll(
    /\p{Cc}|^[\s\p{Cf}"']+|[\s\p{Cf}"']+$/gu,
    '',
  );
  return (
    `there is no SQLite file "${visibleName}", and the text after sqlite: must be a path without escapes, query or comment; ` +
    `write sqlite:${join(dirname(path), meantName || 'PATH')}`
  );
}

/** @throws {StorageSetupError} when the system does not answer: EACCES, ENOTDIR, ENAMETOOLONG, ELOOP */
function isAbsent(path: string): boolean {
  try {
    // `throwIfNoEntry: false` would also hide ENOTDIR.
    statSync(resolve(path));
    return false;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return true;
    throw setupError(resolve(path), error);
  }
}

function missingFile(path: string): StorageSetupError {
  return new StorageSetupError(`there is no SQLite file ${resolve(path)}`);
}
