import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { PetArchive, ReadablePetArchive } from '../../application/ports/pet-archive.ts';
import { DEFAULT_DATABASE_URL } from '../config/variables.ts';
import { UsageError } from './usage-error.ts';

type Opened<Archive, Keys> = { readonly archive: Archive; readonly keys: Keys; close(): Promise<void> };

type Source = Opened<ReadablePetArchive, Pick<ApiKeyRepository, 'list'>>;
type Target = Opened<PetArchive, ApiKeyRepository>;

/** The storage of the service that runs in the same environment. */
export function defaultUrl(): string {
  return process.env['DATABASE_URL'] || DEFAULT_DATABASE_URL;
}

/** Opens a storage to be read, also while a service has it. */
export async function openSource(url: string, what: string): Promise<Source> {
  const { sqlite, mongodb } = storageOf(url, what);
  if (sqlite === undefined) return openMongodb(mongodb);
  const { openSqliteForReading } = await import('../../adapters/sqlite/open.ts');
  return openSqliteForReading(sqlite);
}

/** Opens a storage to be written. A SQLite file must be in use by no service then. */
export async function openTarget(url: string, what: string): Promise<Target> {
  const { sqlite, mongodb } = storageOf(url, what);
  if (sqlite === undefined) return openMongodb(mongodb);
  const { openSqliteStorage } = await import('../../adapters/sqlite/open.ts');
  return openSqliteStorage(sqlite);
}

/**
 * Opens the keys in `DATABASE_URL`, also while a service has the storage.
 *
 * @throws {UsageError}
 * @throws {StorageSetupError}
 */
export async function openKeys(options: {
  /** Whether a SQLite file may be made where there is none: else the path is more likely to be wrong. */
  readonly mayMake: boolean;
}): Promise<{ readonly keys: ApiKeyRepository; close(): Promise<void> }> {
  const url = defaultUrl();
  if (url === 'memory:') {
    throw new UsageError(
      'DATABASE_URL is memory:, which no command can reach, and which is gone with the service; give that API_KEYS',
      'keys ',
    );
  }
  const { sqlite, mongodb } = storageOf(url, 'DATABASE_URL');
  if (sqlite === undefined) return openMongodb(mongodb);
  if (!options.mayMake && !existsSync(sqlite)) {
    throw new StorageSetupError(`there is no SQLite file ${resolve(sqlite)}`);
  }
  const { openSqliteKeys } = await import('../../adapters/sqlite/open.ts');
  return openSqliteKeys(sqlite);
}

async function openMongodb(url: string): Promise<Target> {
  const { openMongoArchive } = await import('../../adapters/mongodb/open.ts');
  return openMongoArchive(url);
}

function storageOf(url: string, what: string): { readonly sqlite?: string; readonly mongodb: string } {
  if (url === 'memory:') {
    throw new UsageError(
      `${what} cannot be memory:, which is gone when a process ends, and seen by no other`,
    );
  }
  const sqlite = /^sqlite:(.+)$/.exec(url)?.[1];
  if (sqlite !== undefined) return { sqlite, mongodb: '' };
  if (/^mongodb(?:\+srv)?:\/\//.test(url)) return { mongodb: url };
  throw new UsageError(`${what} must be sqlite:PATH or mongodb://HOST/DATABASE`);
}
