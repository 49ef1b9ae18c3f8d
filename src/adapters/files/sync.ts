import { existsSync, statSync } from 'node:fs';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Only the user of the service may read keys and pets. */
export const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/**
 * Waits until a file, or the names in a directory, are on the disk. No SQLite connection of this process may have the
 * file open, because closing it here would release its locks:
 * https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 */
export async function sync(path: string): Promise<void> {
  await using file = await open(path);
  await file.sync();
}

/**
 * Creates a missing directory and its missing parents, durably. Node's recursive `mkdir` syncs nothing, and never
 * returns where a directory such as /proc answers ENOENT.
 */
export async function createDirectory(path: string): Promise<void> {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) await createDirectory(parent);
  try {
    await mkdir(path, DIRECTORY_MODE);
  } catch (error) {
    // Another process may have created it first.
    if (!existsSync(path)) throw error;
  }
  await sync(parent);
}

/**
 * Creates an empty file and its missing parent directories, durably. What exists keeps its permissions.
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
