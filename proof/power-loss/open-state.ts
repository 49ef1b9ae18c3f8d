import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { petJson } from '../../src/adapters/json/exact-json.ts';
import { sqliteStorage } from '../../src/adapters/sqlite/storage.ts';
import { StorageSetupError } from '../../src/application/ports/storage-errors.ts';
import { BEFORE_EVERY_ID } from '../../src/application/ports/pet-archive.ts';
import { aPet } from '../../test/support/pets.ts';
import { storageHost } from '../../test/support/storage-host.ts';

const NEXT = aPet({ name: 'the next pet', categoryId: 1n });

export type Opened =
  /** Everything that was promised is there. */
  | { readonly is: 'right' }
  /** The start says what is wrong. */
  | { readonly is: 'refused'; readonly why: string }
  /** A promise is broken. */
  | { readonly is: 'wrong'; readonly why: string };

/**
 * Opens a database as the next start of a service does, on the files that a power cut has left.
 *
 * @param acknowledged the pets that must be there, each as its JSON
 * @param scratch an empty directory for the files
 */
export async function openState(
  files: ReadonlyMap<string, Buffer>,
  {
    database,
    acknowledged,
    scratch,
  }: Readonly<Record<'database' | 'scratch', string>> & {
    readonly acknowledged: ReadonlySet<string>;
  },
): Promise<Opened> {
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { recursive: true });
  for (const [path, bytes] of files) {
    await writeFile(join(scratch, path.slice(dirname(database).length)), bytes);
  }
  const url = `sqlite:${join(scratch, database.slice(dirname(database).length))}`;
  try {
    return (await problemOf(url, acknowledged)) ?? { is: 'right' };
  } catch (error) {
    if (error instanceof StorageSetupError) return { is: 'refused', why: error.message };
    return { is: 'wrong', why: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

async function problemOf(url: string, acknowledged: ReadonlySet<string>): Promise<Opened | undefined> {
  const service = await sqliteStorage.open(url, { for: 'service', log: storageHost(), autoMigrate: false });
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
    if (lost !== undefined) return { is: 'wrong', why: `${left.size} pets are lost, such as ${lost}` };
    const { id } = await service.pets.insert(NEXT);
    if (id <= greatestId) return { is: 'wrong', why: `the id ${id} was given again` };
  } finally {
    await service.close();
  }
  const checked = await sqliteStorage.open(url, { for: 'checking' });
  try {
    for await (const { about, problem } of checked.inspector.findings()) {
      return { is: 'wrong', why: `check finds: ${about} ${problem}` };
    }
  } finally {
    await checked.close();
  }
  return undefined;
}
