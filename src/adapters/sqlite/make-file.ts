import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/** Keys and pets are for the user of the service alone. SQLite gives the log and its index the mode of the file. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/**
 * Makes an empty file, and the directories that lead to it, where there is none. The permissions of what is there stay
 * as they are.
 *
 * @param file an absolute path
 * @throws what `node:fs` throws
 */
export function makeFile(file: string): void {
  makeDirectory(dirname(file));
  // A file that is there is never opened here: to close it would release the locks that SQLite holds on it in this
  // process. https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
  if (!existsSync(file)) closeSync(openSync(file, 'a', FILE_MODE));
}

/** One by one: Node's recursive `mkdir` never returns where a directory such as /proc answers ENOENT. */
function makeDirectory(path: string): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.push(at);
  for (const directory of missing.toReversed()) {
    try {
      mkdirSync(directory, DIRECTORY_MODE);
    } catch (error) {
      // Another process that starts may have made it in between.
      if (!existsSync(directory)) throw error;
    }
  }
}
