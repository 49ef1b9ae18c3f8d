import * as fs from 'node:fs';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { basename, dirname, join, resolve } from 'node:path';

/** What a file of SQLite begins with: https://www.sqlite.org/fileformat.html */
const MAGICS = [
  Buffer.from('SQLite format 3\0'),
  // A write-ahead log in either byte order, which the next byte tells.
  Buffer.from('377f06', 'hex'),
  Buffer.from('d9d505f920a163d7', 'hex'),
];

/** The end of the name of a file beside a database. Such a file may be empty while a service depends on it. */
const BESIDE = /-wal$|-shm$|-journal$|\.lock$/i;

/**
 * Refuses a name that SQLite or a service gives to a file beside a database, whether or not there is one yet.
 *
 * @param file without symbolic links
 * @throws {StorageSetupError}
 */
export function refuseNameBesideDatabase(file: string): void {
  const [ending] = BESIDE.exec(file) ?? [];
  if (ending === undefined) return;
  throw new StorageSetupError(
    `${file} cannot be used: ${ending} is for files beside a database; choose another name`,
  );
}

/**
 * Refuses to write a file that is part of a database, or that would become part of one.
 *
 * @param file without symbolic links
 * @throws {StorageSetupError}
 * @throws the error of `node:fs`
 */
export function refuseDatabaseFile(file: string): void {
  refuseNameBesideDatabase(file);
  // Opening a pipe would wait for its other end.
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() === false) {
    throw new StorageSetupError(`${file} is not a regular file`);
  }
  const head = headOf(file);
  const isDatabase =
    MAGICS.some((magic) => head.subarray(0, magic.length).equals(magic)) ||
    ['-wal', '-shm', '-journal'].some((suffix) => fs.existsSync(file + suffix));
  if (isDatabase) throw new StorageSetupError(`${file} belongs to a SQLite database; choose another FILE`);
}

/** 1: in rollback mode. 2: in WAL mode, as a service leaves it: https://www.sqlite.org/fileformat.html, section 1.3.3 */
export function fileFormatOf(file: string): number | undefined {
  return headOf(file)[19];
}

/** The first bytes of a file, and zeros where there are none. See `sync` for when it may be opened. */
function headOf(file: string): Buffer {
  const head = Buffer.alloc(20);
  if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return head;
  const fd = fs.openSync(file, 'r');
  try {
    fs.readSync(fd, head);
    return head;
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * The absolute path without symbolic links. The file and its directory may be missing.
 *
 * @throws the error of `node:fs`
 */
export function resolveLinks(path: string): string {
  // Unlike existsSync, it throws at a link that leads to itself.
  if (fs.statSync(path, { throwIfNoEntry: false }) !== undefined) return fs.realpathSync(path);
  const directory = dirname(resolve(path));
  if (fs.statSync(directory, { throwIfNoEntry: false }) === undefined) return resolve(path);
  const real = join(fs.realpathSync(directory), basename(path));
  const isLink = fs.lstatSync(real, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? resolveLinks(resolve(dirname(real), fs.readlinkSync(real))) : real;
}
