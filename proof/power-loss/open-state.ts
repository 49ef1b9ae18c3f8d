import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { petJson } from '../../src/adapters/json/exact-json.ts';
import type * as Sqlite from '../../src/adapters/sqlite/storage.ts';
import { BEFORE_EVERY_ID } from '../../src/application/ports/pet-archive.ts';
import type { StorageKind } from '../../src/application/ports/storage-kind.ts';
import { aPet } from '../../test/support/pets.ts';
import { storageHost } from '../../test/support/storage-host.ts';

const NEW_PET = aPet({ name: 'the next pet', categoryId: 1n });

/**
 * Opens a database as the next start of a service does, on the files that a power cut has left.
 *
 * @param acknowledgedPets the pets that the database must have, each as its JSON
 * @param scratch an empty directory for the files
 * @param build the directory of the build that opens the database
 * @returns what is wrong (a lost pet, an id that is assigned twice, a refused start), or `undefined`
 */
export async function openState(
  files: ReadonlyMap<string, Buffer>,
  database: string,
  acknowledgedPets: ReadonlySet<string>,
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
    return await findProblem(sqliteStorage, url, acknowledgedPets);
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

async function findProblem(
  storage: StorageKind,
  url: string,
  acknowledgedPets: ReadonlySet<string>,
): Promise<string | undefined> {
  const service = await storage.openService(url, { log: storageHost(), autoMigrate: false });
  let greatestId = 0n;
  try {
    const missingPets = new Set(acknowledgedPets);
    for (let after = BEFORE_EVERY_ID; ; ) {
      const page = await service.pets.list({ after, limit: 1_000 });
      for (const pet of page) missingPets.delete(JSON.stringify(petJson(pet)));
      const last = page.at(-1);
      if (last === undefined) break;
      [after, greatestId] = [last.id, last.id];
    }
    const [lostPet] = missingPets;
    if (lostPet !== undefined) return `${missingPets.size} pets are lost, such as ${lostPet}`;
    const { id } = await service.pets.insert(NEW_PET);
    if (id <= greatestId) return `the id ${id} was assigned twice`;
  } finally {
    await service.close();
  }
  const storageToCheck = await storage.openForChecking(url);
  try {
    for await (const { about, problem } of storageToCheck.inspector.findings()) {
      return `the command check reports: ${about} ${problem}`;
    }
  } finally {
    await storageToCheck.close();
  }
  return undefined;
}
