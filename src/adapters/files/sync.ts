import { existsSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';

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
