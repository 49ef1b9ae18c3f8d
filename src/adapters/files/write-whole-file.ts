import { statSync } from 'node:fs';
import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { resolveLinks } from './database-files.ts';
import { FILE_MODE, sync } from './sync.ts';

/** The file itself and what SQLite can leave beside it. */
const SUFFIXES = ['', '-journal', '-wal', '-shm'];

export type WholeFile = {
  /** The name until the file is complete. Default: `TARGET.partial`. */
  readonly partial?: string;
  /** Throws when the target must not be written. Called before anything is. */
  readonly check: (target: string) => void | Promise<void>;
  /** Writes the empty file of this name, and leaves it closed. */
  readonly write: (partial: string) => Promise<void>;
  /** The last step before the file gets its name. Default: `check`. */
  readonly beforeRename?: (target: string) => void | Promise<void>;
};

/**
 * Writes a file under another name, and renames it when it is complete and on the disk. So the path is always a whole
 * file, and an older one keeps its permissions. A failure leaves nothing, `kill -9` the other name.
 *
 * @param path if it is a symbolic link, its target is written
 * @throws {StorageSetupError} when the file cannot be written
 * @throws what the functions throw
 */
export async function writeWholeFile(path: string, { write, check, ...rest }: WholeFile): Promise<void> {
  try {
    const target = resolveLinks(path);
    const { partial = `${target}.partial`, beforeRename = check } = rest;
    await check(target);
    await writeFile(partial, '', { flag: 'wx', mode: FILE_MODE });
    try {
      await write(partial);
      await chmod(partial, (statSync(target, { throwIfNoEntry: false })?.mode ?? FILE_MODE) & 0o777);
      await sync(partial);
      await beforeRename(target);
      await rename(partial, target);
    } catch (error) {
      for (const suffix of SUFFIXES) await rm(partial + suffix, { force: true });
      throw error;
    }
    await sync(dirname(target));
  } catch (error) {
    // Of the system or of SQLite.
    if (!(error instanceof Error && ('syscall' in error || 'errcode' in error))) throw error;
    const problem =
      'path' in error && 'code' in error && error.code === 'EEXIST'
        ? `${String(error.path)} exists: wait for the other command, or remove what a killed one left`
        : `${path} cannot be written: ${error.message}`;
    throw new StorageSetupError(problem, { cause: error });
  }
}
