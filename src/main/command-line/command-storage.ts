import type { Storage } from '../../application/ports/storage-kind.ts';
import {
  databaseUrlProblem,
  DEFAULT_DATABASE_URL,
  parseDatabaseUrl,
  STORAGES,
  urlForms,
} from '../config/storages.ts';
import { UsageError } from '../program/failures.ts';
import type { Session } from './session.ts';

export type Urls = { readonly from?: string; readonly to?: string };

const PERSISTENT = STORAGES.filter(({ persistent }) => persistent);

export const SOURCES = `${urlForms(PERSISTENT)} (default: DATABASE_URL)`;

export const TARGETS = urlForms(
  PERSISTENT.map(({ urlForm, shared }) => ({
    urlForm: shared ? urlForm : `${urlForm}, which no service may use at the same time,`,
  })),
);

/**
 * The default is the storage of the service in the same environment.
 *
 * @param advice what to do when no command can reach the storage
 */
export function storageOf(
  option: '--from' | '--to' | 'URL',
  given: string | undefined,
  { io: { env, storages } }: Session,
  advice = 'use a persistent storage',
): Storage {
  const name = given === undefined ? 'DATABASE_URL' : option;
  const url = given ?? (env['DATABASE_URL'] || DEFAULT_DATABASE_URL);
  const storage = parseDatabaseUrl(url, storages);
  if (storage === undefined) {
    const reachable = storages.filter((kind) => kind.persistent);
    throw new UsageError(`${name} ${databaseUrlProblem(url, reachable)}`);
  }
  if (storage.kind.persistent) return storage;
  throw new UsageError(`${name} is ${shownUrl(url)}, which no other process can reach; ${advice}`);
}

/** `await using` closes the result at the end of the block. */
export async function asDisposable<T extends { close(): Promise<void> }>(
  opening: Promise<T>,
): Promise<T & AsyncDisposable> {
  const resource = await opening;
  return { ...resource, [Symbol.asyncDispose]: () => resource.close() };
}

/** Omits the user, the password and the options. */
export function shownUrl(url: string): string {
  return url.replace(/^([a-z][\w+.-]*:\/\/)(?:[^?#]*@)?([^?#]*).*/is, '$1$2');
}

export function reportUsed(used: 'read from' | 'wrote to', { url }: Storage, session: Session): void {
  session.note(`${used} ${shownUrl(url)}`);
}
