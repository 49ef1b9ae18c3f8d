import { memoryStorage } from '../../adapters/memory/storage.ts';
import { mongodbStorage } from '../../adapters/mongodb/storage.ts';
import { DEFAULT_SQLITE_PATH, sqliteStorage } from '../../adapters/sqlite/storage.ts';
import type { Storage, StorageKind } from '../../application/ports/storage-kind.ts';
import { PROGRAM } from './build.ts';

/** A new storage is a folder of adapters and an entry here. */
export const STORAGES: readonly StorageKind[] = [sqliteStorage, mongodbStorage(PROGRAM), memoryStorage];

export const DEFAULT_DATABASE_URL = `sqlite:${DEFAULT_SQLITE_PATH}`;

export function parseDatabaseUrl(url: string, kinds: readonly StorageKind[]): Storage | undefined {
  const kind = kinds.find((candidate) => candidate.isUrl(url));
  return kind && { kind, url };
}

export function kindsWith(
  method: 'migrate' | 'backUp' | 'restore',
  kinds: readonly StorageKind[] = STORAGES,
): readonly StorageKind[] {
  return kinds.filter((kind) => kind[method] !== undefined);
}

/** Messages have this text after the name of a variable or option. */
export function databaseUrlProblem(url: string, kinds: readonly StorageKind[]): string {
  const [problem] = kinds.flatMap((kind) => kind.urlProblem?.(url) ?? []);
  return problem ?? `must be ${urlForms(kinds)}`;
}

/** For example `sqlite:PATH or memory:`. */
export function urlForms(kinds: readonly Pick<StorageKind, 'urlForm'>[]): string {
  return either(kinds.map(({ urlForm }) => urlForm));
}

export function namesOf(kinds: readonly StorageKind[]): string {
  return either(kinds.map(({ name }) => name));
}

function either(texts: readonly string[]): string {
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(texts);
}
