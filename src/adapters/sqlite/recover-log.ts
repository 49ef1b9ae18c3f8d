import * as fs from 'node:fs';
import { open, rm } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import type { StorageHost } from '../../application/ports/storage-health.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { writeWholeFile } from '../files/durable-files.ts';
import { connect, fileOf, sizeBytesOf } from './connection.ts';
import { endUnclosed, isBusy, retryWhileBusy, setupError } from './errors.ts';

/**
 * Moves the log of an ended process into the database, and waits for the disk: see
 * docs/explanation/group-commit.md#the-recovery-at-the-next-start. A failure ends the process.
 *
 * @param reader a read-only connection, which this function closes
 * @throws {StorageSetupError} when another program has the file open for more than 5 s. Nothing has been changed then
 */
export async function recoverLog(reader: DatabaseSync, host: StorageHost): Promise<void> {
  const file = fileOf(reader);
  const wal = `${file}-wal`;
  reader.close();
  if (sizeBytesOf(wal) === 0) return;
  using resources = new DisposableStack();
  try {
    const firstConnection = await connectAlone(file, resources);
    // Without frames, closing the connection checkpoints nothing.
    if (framesOf(firstConnection) <= 0) return;
    await replaceLog(wal);
    firstConnection.close();
    // Stays open until the second connection is closed: closing the file would release the locks of SQLite.
    const database = resources.adopt(fs.openSync(file, 'r+'), fs.closeSync);
    const secondConnection = await connectAlone(file, resources);
    cutLoggedEnd(database, wal, framesOf(secondConnection));
    secondConnection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    if (!isBusy(error)) endUnclosed((setupError(file, error) as Error).message, host);
    throw new StorageSetupError(
      `the SQLite file ${file} was not closed, and another program has it open; stop that program and try again`,
      { cause: error },
    );
  }
}

/**
 * Locks out other connections, and trusts no `-shm`: https://www.sqlite.org/wal.html#use_of_wal_without_shared_memory
 */
async function connectAlone(file: string, resources: DisposableStack): Promise<DatabaseSync> {
  const db = resources.use(connect(file, 'write'));
  const beginSql =
    'PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; SELECT 1 FROM sqlite_schema';
  await retryWhileBusy(() => db.exec(beginSql));
  return db;
}

/** The number of committed frames. Less than 0 if there is no log. */
function framesOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA wal_checkpoint(NOOP)').get()!['log']);
}

/** Replaces the log by a copy, and empties the old file, so that closing the first connection checkpoints nothing. */
async function replaceLog(wal: string): Promise<void> {
  // A killed start may have left this file. The service lock keeps other starts out.
  await rm(`${wal}.partial`, { force: true });
  await using oldLog = await open(wal, 'r+');
  await writeWholeFile(wal, {
    check() {},
    write: (copy) => pipeline(fs.createReadStream(wal), fs.createWriteStream(copy, { flush: true })),
  });
  await oldLog.truncate();
}

/**
 * Cuts off the last pages of the database that the log has. The checkpoint then writes these pages to new blocks.
 *
 * @param frames the number of frames in the log: https://www.sqlite.org/fileformat.html#the_write_ahead_log
 */
function cutLoggedEnd(database: number, wal: string, frames: number): void {
  const log = fs.openSync(wal, 'r');
  const uint32 = Buffer.alloc(4);
  const uint32At = (position: number) => {
    fs.readSync(log, uint32, 0, 4, position);
    return uint32.readUInt32BE();
  };
  const pageSize = uint32At(8);
  const loggedPages = new Set(Array.from({ length: frames }, (_, n) => uint32At(32 + n * (24 + pageSize))));
  fs.closeSync(log);
  const { size } = fs.fstatSync(database);
  let pages = Math.ceil(size / pageSize);
  // Keeps page 1, because SQLite takes a file without this page for a new file.
  while (pages > 1 && loggedPages.has(pages)) pages--;
  fs.ftruncateSync(database, Math.min(size, pages * pageSize));
}
