import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openMongoArchive } from '../../src/adapters/mongodb/open.ts';
import { openSqliteStorage } from '../../src/adapters/sqlite/open.ts';
import type { ArchivedPet, PetArchive } from '../../src/application/ports/pet-archive.ts';
import { fileWith as databaseWith, silentLog } from './sqlite.ts';
import type { TcpProxy } from './tcp-proxy.ts';
import { testDirectory } from './test-directory.ts';

export async function fileWith(text: string): Promise<string> {
  const path = join(await testDirectory(), 'pets.ndjson');
  await writeFile(path, text);
  return path;
}

/** A SQLite file with these pets. */
export async function sqliteWith(pets: readonly ArchivedPet[]): Promise<{ url: string; path: string }> {
  const path = await databaseWith(pets);
  return { url: `sqlite:${path}`, path };
}

async function opened(url: string): Promise<{ archive: PetArchive } & AsyncDisposable> {
  const path = /^sqlite:(.*)/.exec(url)?.[1];
  const { archive, close } =
    path === undefined ? await openMongoArchive(url) : await openSqliteStorage(path, silentLog);
  return { archive, [Symbol.asyncDispose]: close };
}

export async function everythingIn(url: string): Promise<readonly ArchivedPet[]> {
  await using storage = await opened(url);
  return await storage.archive.read(0n, 100_000);
}

/**
 * Lets this many of these commands pass. Resolves when the proxy holds the next one.
 *
 * @returns a function that lets that one pass
 */
export async function stopAt(proxy: TcpProxy, command: string, passed: number): Promise<() => void> {
  let release = await proxy.hold(command);
  for (let n = 0; n < passed; n++) {
    release();
    release = await proxy.hold(command);
  }
  return release;
}
