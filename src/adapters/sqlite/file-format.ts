import * as fs from 'node:fs';
import { belongsToDatabase, refuseFileBesideDatabase } from '../files/database-files.ts';

/** What a file of SQLite begins with: https://www.sqlite.org/fileformat.html */
const MAGICS = [
  Buffer.from('SQLite format 3\0'),
  // A write-ahead log in either byte order, which the next byte tells.
  Buffer.from('377f06', 'hex'),
  // A rollback journal.
  Buffer.from('d9d505f920a163d7', 'hex'),
];

/**
 * Refuses to write a file that is part of a database, or that would become part of one.
 *
 * @param file without symbolic links
 * @throws {StorageSetupError}
 * @throws the error of `node:fs`
 */
export function refuseDatabaseFile(file: string): void {
  refuseFileBesideDatabase(file);
  const head = headOf(file);
  if (MAGICS.some((magic) => head.subarray(0, magic.length).equals(magic))) throw belongsToDatabase(file);
}

/** 1: in rollback mode. 2: in WAL mode, as a service leaves it: https://www.sqlite.org/fileformat.html, section 1.3.3 */
export function fileFormatOf(file: string): number | undefined {
  return headOf(file)[19];
}

/** The first bytes of a file, and zeros where there are none. No SQLite connection of this process may have it open. */
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
