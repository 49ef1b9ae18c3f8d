import * as fs from 'node:fs';
import { belongsToDatabase, refuseFileBesideDatabase } from '../files/database-files.ts';

/** The first bytes of the files of SQLite: https://www.sqlite.org/fileformat.html */
const MAGICS = [
  Buffer.from('SQLite format 3\0'),
  // A write-ahead log, in either byte order.
  Buffer.from('377f06', 'hex'),
  // A rollback journal.
  Buffer.from('d9d505f920a163d7', 'hex'),
];

/**
 * Refuses a target that is part of a database, or would become part of one.
 *
 * @param file without symbolic links
 * @throws {StorageSetupError}
 */
export function refuseDatabaseFile(file: string): void {
  refuseFileBesideDatabase(file);
  const head = headOf(file);
  if (MAGICS.some((magic) => head.subarray(0, magic.length).equals(magic))) throw belongsToDatabase(file);
}

/** 1 in rollback mode, 2 in WAL mode: https://www.sqlite.org/fileformat.html, section 1.3.3 */
export function fileFormatOf(file: string): number | undefined {
  return headOf(file)[19];
}

/**
 * Missing bytes are 0. No SQLite connection of this process may have the file open: the close would release its locks.
 */
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
