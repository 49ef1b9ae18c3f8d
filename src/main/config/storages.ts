import { isSea } from 'node:sea';
import { memoryStorage } from '../../adapters/memory/storage.ts';
import { mongodbStorage } from '../../adapters/mongodb/storage.ts';
import { sqliteStorage } from '../../adapters/sqlite/storage.ts';
import type { Storage, StorageKind } from '../../application/ports/storage.ts';

/** How a user calls this program, for hints. A single executable is named as it was called. */
export const PROGRAM = isSea() ? process.argv0 : 'npx petstore';

/** The storages that `DATABASE_URL` can name. A new one is a folder of adapters and a line here. */
export const STORAGES: readonly StorageKind[] = [sqliteStorage, mongodbStorage(PROGRAM), memoryStorage];

/** The storage that the URL names, or `undefined` when the URL has the form of no storage. */
export function parseDatabaseUrl(url: string, kinds: readonly StorageKind[]): Storage | undefined {
  for (const kind of kinds) {
    const storage = kind.parseUrl(url);
    if (storage !== undefined) return storage;
  }
  return undefined;
}

/** Completes a sentence that begins with the name of a variable or an option. */
export function databaseUrlRule(kinds: readonly StorageKind[]): string {
  const forms = kinds.map(({ urlForm }) => urlForm);
  return `must be ${forms.slice(0, -1).join(', ')} or ${forms.at(-1)}`;
}
