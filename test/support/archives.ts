import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArchivedPet } from '../../src/application/ports/pet-archive.ts';
import { STORAGES } from '../../src/main/config/storages.ts';
import { fileWith as databaseWith } from './sqlite.ts';
import type { TcpProxy } from './tcp-proxy.ts';
import { testDirectory } from './test-directory.ts';
import { storageHost } from './storage-host.ts';

/** Creates an NDJSON file with this text. Returns its path. The file is removed when the running test ends. */
export async function fileWith(text: string): Promise<string> {
  const path = join(await testDirectory(), 'pets.ndjson');
  await writeFile(path, text);
  return path;
}

/** Creates a SQLite database with these pets. Returns its URL and its path. */
export async function sqliteWith(pets: readonly ArchivedPet[]): Promise<{ url: string; path: string }> {
  const path = await databaseWith(pets);
  return { url: `sqlite:${path}`, path };
}

/** Returns the pets of the storage at this URL. A storage must not have more than 100,000 pets. */
export async function allPetsIn(url: string): Promise<readonly ArchivedPet[]> {
  const { archive, close } = await STORAGES.find(({ isUrl }) => isUrl(url))!.openForWriting(
    url,
    storageHost(),
  );
  const pets = await archive.read(0n, 100_000);
  await close();
  return pets;
}

/**
 * Makes the proxy forward the next `count` commands of this name, and then hold one command of this name. Resolves when
 * the proxy holds that command.
 *
 * @returns a function that forwards the held command
 */
export async function holdCommandAfter(proxy: TcpProxy, command: string, count: number): Promise<() => void> {
  let forward = await proxy.hold(command);
  for (let n = 0; n < count; n++) {
    forward();
    forward = await proxy.hold(command);
  }
  return forward;
}
