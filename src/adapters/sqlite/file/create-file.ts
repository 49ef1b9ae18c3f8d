import { existsSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createDirectory, sync } from '../../files/sync.ts';
import { FILE_MODE } from '../../files/write-whole-file.ts';

/**
 * Creates an empty file and its missing parent directories, durably. What exists keeps its permissions. SQLite gives
 * the WAL and its index the mode of the file.
 *
 * @param file an absolute path
 * @throws the error of `node:fs`
 */
export async function createFile(file: string): Promise<void> {
  // An empty file may be what a start has left that was killed before the sync.
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0) return;
  await createDirectory(dirname(file));
  // Never opens an existing file: see `sync`.
  if (!existsSync(file)) await writeFile(file, '', { flag: 'a', mode: FILE_MODE });
  await sync(dirname(file));
}
