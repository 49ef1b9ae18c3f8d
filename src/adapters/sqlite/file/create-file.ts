import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/** Only the user of the service may read keys and pets. SQLite gives the WAL and its index the mode of the file. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/**
 * Creates an empty file and its missing parent directories. What exists keeps its permissions.
 *
 * @param file an absolute path
 * @throws the error of `node:fs`
 */
export function createFile(file: string): void {
  createDirectory(dirname(file));
  // Never opens an existing file: closing it would release the locks that SQLite holds on it in this process.
  // https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
  if (!existsSync(file)) closeSync(openSync(file, 'a', FILE_MODE));
}

/** Node's recursive `mkdir` never returns where a directory such as /proc answers ENOENT. */
function createDirectory(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) createDirectory(parent);
  try {
    mkdirSync(path, DIRECTORY_MODE);
  } catch (error) {
    // Another process may have created it first.
    if (!existsSync(path)) throw error;
  }
}
