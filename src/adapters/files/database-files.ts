import * as fs from 'node:fs';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { basename, dirname, join, resolve } from 'node:path';

/** A file with such an ending may be empty while a service depends on it. */
const ENDING_BESIDE_DATABASE = /-wal$|-shm$|-journal$|\.lock$/i;

/**
 * Refuses the name of a file beside a database, whether or not the database exists.
 *
 * @param file without symbolic links
 * @throws {StorageSetupError}
 */
export function refuseNameBesideDatabase(file: string): void {
  const [ending] = ENDING_BESIDE_DATABASE.exec(file) ?? [];
  if (ending === undefined) return;
  throw new StorageSetupError(
    `${file} cannot be used: ${ending} is for files beside a database; choose another name`,
  );
}

/**
 * Refuses a file that has files of a database beside it, or has the name of such a file.
 *
 * @param file without symbolic links
 * @throws {StorageSetupError}
 */
export function refuseFileBesideDatabase(file: string): void {
  refuseNameBesideDatabase(file);
  // Opening a pipe would wait for its other end.
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() === false) {
    throw new StorageSetupError(`${file} is not a regular file; choose another FILE`);
  }
  if (['-wal', '-shm', '-journal'].some((suffix) => fs.existsSync(file + suffix)))
    throw belongsToDatabase(file);
}

export function belongsToDatabase(file: string): StorageSetupError {
  return new StorageSetupError(`${file} belongs to a SQLite database; choose another FILE`);
}

/**
 * The absolute path without symbolic links. The file and its directory may be missing.
 *
 * @throws the error of `node:fs`
 */
export function resolveLinks(path: string): string {
  // Unlike `existsSync`, `statSync` throws for a link that leads to itself.
  if (fs.statSync(path, { throwIfNoEntry: false }) !== undefined) return fs.realpathSync(path);
  const directory = dirname(resolve(path));
  if (fs.statSync(directory, { throwIfNoEntry: false }) === undefined) return resolve(path);
  const realFile = join(fs.realpathSync(directory), basename(path));
  const isLink = fs.lstatSync(realFile, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? resolveLinks(resolve(dirname(realFile), fs.readlinkSync(realFile))) : realFile;
}
