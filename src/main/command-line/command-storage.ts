import type { PersistentStorage } from '../../application/ports/storage.ts';
import { DEFAULT_DATABASE_URL } from '../config/variables.ts';
import { databaseUrlRule, parseDatabaseUrl, STORAGES } from '../storages.ts';
import type { Session } from './session.ts';
import { UsageError } from './usage-error.ts';

/**
 * The storage that an option names; without the option, the storage of the service in the same environment.
 *
 * @throws {UsageError} when there is no such storage, or no command can reach it
 */
export function storageOf(
  option: '--from' | '--to',
  url: string | undefined,
  session: Session,
): PersistentStorage {
  return url === undefined ? configuredStorage(session) : persistent(option, url);
}

/**
 * The storage of the service in the same environment.
 *
 * @param instead what to do when the service keeps everything in memory
 * @throws {UsageError} as {@link storageOf}
 */
export function configuredStorage({ env }: Session, instead?: string): PersistentStorage {
  return persistent('DATABASE_URL', env['DATABASE_URL'] || DEFAULT_DATABASE_URL, instead);
}

function persistent(name: string, url: string, instead = 'use a persistent storage'): PersistentStorage {
  const storage = parseDatabaseUrl(url);
  // The form of a storage's URLs is such a URL itself.
  const kinds = STORAGES.filter((kind) => kind.parseUrl(kind.urlForm)?.persistent);
  if (storage === undefined) throw new UsageError(`${name} ${databaseUrlRule(kinds)}`);
  if (storage.persistent) return storage;
  throw new UsageError(`${name} is ${url}, which no other process can reach; ${instead}`);
}
