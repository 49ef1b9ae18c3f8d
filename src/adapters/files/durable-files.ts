import { existsSync, lstatSync, statSync } from 'node:fs';
import { chmod, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { refuseFileBesideDatabase, resolveLinks } from './database-files.ts';

/** Only the user of the service may read keys and pets. */
export const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/**
 * Syncs a file or a directory. No SQLite connection of this process may have the file open, because closing the file
 * here would release the locks of SQLite: see docs/explanation/group-commit.md#checkpoints.
 */
async function sync(path: string): Promise<void> {
  await using file = await open(path);
  await file.sync();
}

/** Creates a missing directory and its missing parents, durably: see "A file gets its name" in docs/decisions.md. */
export async function createDirectory(path: string): Promise<void> {
  const parent = dirname(path);
  // A start that was killed may have created the directory without a sync. Some parents cannot be synced.
  if (existsSync(path)) return sync(parent).catch(() => {});
  if (parent !== path) await createDirectory(parent);
  try {
    await mkdir(path, DIRECTORY_MODE);
  } catch (error) {
    // Another process may have created the directory.
    if (!existsSync(path)) throw error;
  }
  await sync(parent);
}

/**
 * Creates an empty file and its missing directories, durably. An existing file keeps its permissions.
 *
 * @param file an absolute path
 * @throws the error of `node:fs`
 */
export async function createFile(file: string): Promise<void> {
  // A start that was killed may have left an empty file without a sync.
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0) return;
  await createDirectory(dirname(file));
  // Never opens an existing file: see `sync`.
  if (!existsSync(file)) await writeFile(file, '', { flag: 'a', mode: FILE_MODE });
  await sync(dirname(file));
}

const SUFFIXES = ['', '-journal', '-wal', '-shm'];

export type WholeFile = {
  /** Throws when the target must not be written. Called first, and once more before the file is renamed. */
  readonly check: (target: string) => void;
  /** Fills the empty file `partial`, and closes it. */
  readonly write: (partial: string) => Promise<void>;
};

/**
 * Writes `FILE.partial`, and renames it when it is complete and on the disk. Follows a symbolic link. The new file has
 * the permissions of the file that it replaces. A failure leaves no part of the new file.
 *
 * @throws {StorageSetupError} when the file cannot be written
 * @throws the error of `check` or `write`
 */
export async function writeWholeFile(path: string, { write, check }: WholeFile): Promise<void> {
  try {
    const target = resolveLinks(path);
    const partial = `${target}.partial`;
    check(target);
    await writeFile(partial, '', { flag: 'wx', mode: FILE_MODE });
    try {
      await write(partial);
      await chmod(partial, (statSync(target, { throwIfNoEntry: false })?.mode ?? FILE_MODE) & 0o777);
      await sync(partial);
      check(target);
      await rename(partial, target);
    } catch (error) {
      for (const suffix of SUFFIXES) await rm(partial + suffix, { force: true });
      throw error;
    }
    await sync(dirname(target));
  } catch (error) {
    // Only errors of the system and of SQLite are translated.
    if (!(error instanceof Error && ('syscall' in error || 'errcode' in error))) throw error;
    const problem =
      'path' in error && 'code' in error && error.code === 'EEXIST'
        ? `${String(error.path)} exists: wait until the command that writes it has ended, or move the file away if that command was killed`
        : `${path} cannot be written: ${error.message}`;
    throw new StorageSetupError(problem, { cause: error });
  }
}

/**
 * Writes a complete new file, which only its owner can read.
 *
 * @throws {StorageSetupError} when the path exists or the file cannot be written
 * @throws the error of `write`
 */
export async function writeNewFile(path: string, write: WholeFile['write']): Promise<void> {
  const file = resolve(path);
  await writeWholeFile(file, {
    check(target) {
      refuseExisting(file);
      refuseFileBesideDatabase(target);
    },
    write,
  });
}

/** @throws {StorageSetupError} */
export function refuseExisting(file: string): void {
  // `existsSync` would not find a symbolic link without a target.
  if (lstatSync(file, { throwIfNoEntry: false })) {
    throw new StorageSetupError(`${file} exists; choose another FILE`);
  }
}
