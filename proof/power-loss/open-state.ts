import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { petJson } from '../../src/adapters/json/exact-json.ts';
import type * as Sqlite from '../../src/adapters/sqlite/storage.ts';
import { BEFORE_EVERY_ID } from '../../src/application/ports/pet-archive.ts';
import type { StorageKind } from '../../src/application/ports/storage-kind.ts';
import { aPet } from '../../test/support/pets.ts';
import { storageHost } from '../../test/support/storage-host.ts';

const NEXT = aPet({ name: 'the next pet', categoryId: 1n });

/**
 * Opens a database as the next start of a service does, on the files that a power cut has left.
 *
 * @param acknowledged the pets that must be there, each as its JSON
 * @param scratch an empty directory for the files
 * @param build the directory of the build that opens it
 * @returns what is wrong (a lost pet, an id that is assigned twice, a refused start), or `undefined`
 */
export async function openState(
  files: ReadonlyMap<string, Buffer>,
  database: string,
  acknowledged: ReadonlySet<string>,
  scratch: string,
  build: string,
): Promise<string | undefined> {
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { recursive: true });
  for (const [path, bytes] of files) {
    await writeFile(join(scratch, path.slice(dirname(database).length)), bytes);
  }
  const url = `sqlite:${join(scratch, database.slice(dirname(database).length))}`;
  try {
    const { sqliteStorage }: typeof Sqlite = await import(join(build, 'src/adapters/sqlite/storage.ts'));
    return await problemOf(sqliteStorage, url, acknowledged);
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

async function problemOf(
  storage: StorageKind,
  url: string,
  acknowledged: ReadonlySet<string>,
): Promise<string | undefined> {
  const service = await storage.openService(url, { log: storageHost(), autoMigrate: false });
  let greatestId = 0n;
  try {
    const left = new Set(acknowledged);
    for (let after = BEFORE_EVERY_ID; ; ) {
      const page = await service.pets.list({ after, limit: 1_000 });
      for (const pet of page) left.delete(JSON.stringify(petJson(pet)));
      const last = page.at(-1);
      if (last === undefined) break;
      [after, greatestId] = [last.id, last.id];
    }
    const [lost] = left;
    if (lost !== undefined) return `${left.size} pets are lost, such as ${lost}`;
    const { id } = await service.pets.insert(NEXT);
    if (id <= greatestId) return `the id ${id} was given again`;
  } finally {
    await service.close();
  }
  const checked = await storage.openForChecking(url);
  try {
    for await (const { about, problem } of checked.inspector.findings()) {
      return `check finds: ${about} ${problem}`;
    }
  } finally {
    await checked.close();
  }
  return undefined;
}
