import { memoryStorage } from '../../adapters/memory/storage.ts';
import { mongodbStorage } from '../../adapters/mongodb/storage.ts';
import { DEFAULT_SQLITE_PATH, sqliteStorage } from '../../adapters/sqlite/storage.ts';
import type { Storage, StorageKind } from '../../application/ports/storage-kind.ts';
import { PROGRAM } from './build.ts';

/** The storages that `DATABASE_URL` can name. A new one is a folder of adapters and a line here. */
export const STORAGES: readonly StorageKind[] = [sqliteStorage, mongodbStorage(PROGRAM), memoryStorage];

/** The default of `DATABASE_URL`. */
export const DEFAULT_DATABASE_URL = `sqlite:${DEFAULT_SQLITE_PATH}`;

/** The storage that the URL names, or `undefined` when the URL has the form of no storage. */
export function parseDatabaseUrl(url: string, kinds: readonly StorageKind[]): Storage | undefined {
  const kind = kinds.find((one) => one.isUrl(url));
  return kind && { kind, url };
}

/** The kinds that have this method. */
export function kindsWith(
  method: 'migrate' | 'backUp' | 'restore',
  kinds: readonly StorageKind[] = STORAGES,
): readonly StorageKind[] {
  return kinds.filter((kind) => kind[method] !== undefined);
}

/** Says why no kind takes the URL. Completes a sentence that begins with the name of a variable or an option. */
export function databaseUrlProblem(url: string, kinds: readonly StorageKind[]): string {
  const [problem] = kinds.flatMap((kind) => kind.urlProblem?.(url) ?? []);
  return problem ?? `must be ${urlForms(kinds)}`;
}

/** Such as `sqlite:PATH or memory:`. */
export function urlForms(kinds: readonly Pick<StorageKind, 'urlForm'>[]): string {
  return either(kinds.map(({ urlForm }) => urlForm));
}

/** Such as `SQLite or MongoDB`. */
export function namesOf(kinds: readonly StorageKind[]): string {
  return either(kinds.map(({ name }) => name));
}

function either(texts: readonly string[]): string {
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(texts);
}
