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
 * Moves what a process has left in the log into the database, and waits for the disk. The process may have ended because
 * a sync has failed. Then the page cache may show pages that the disk does not have, which a later sync does not write.
 *
 * On ext4, a page whose first write has failed cannot be written again in its place: the sync is good, and the disk has
 * zeros. Such a page needs a new block. So the log is copied to a new file, and the pages by which the database has grown
 * are cut off before they are written again. docs/reference/storages.md#when-a-sync-fails has a picture.
 *
 * A failure ends the process, because closing a connection would checkpoint: all but that another program has the file
 * open.
 *
 * @param reader a connection that only reads. It is closed, which checkpoints nothing
 * @throws {StorageSetupError} when another program has the file open for more than 5 s. Nothing has been changed then
 */
export async function recoverLog(reader: DatabaseSync, host: StorageHost): Promise<void> {
  const file = fileOf(reader);
  const wal = `${file}-wal`;
  reader.close();
  if (sizeBytesOf(wal) === 0) return;
  using opened = new DisposableStack();
  try {
    const first = await connectAlone(file, opened);
    // Then closing it checkpoints nothing.
    if (framesOf(first) <= 0) return;
    await replaceLog(wal);
    first.close();
    // Closing it while SQLite has the database open would release the locks of SQLite.
    const database = opened.adopt(fs.openSync(file, 'r+'), fs.closeSync);
    const second = await connectAlone(file, opened);
    cutLoggedEnd(database, wal, framesOf(second));
    second.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    if (!isBusy(error)) endUnclosed((setupError(file, error) as Error).message, host);
    throw new StorageSetupError(
      `the SQLite file ${file} was not closed, and another program has it open; stop that program and try again`,
      { cause: error },
    );
  }
}

/**
 * A connection beside which there is no other. With this mode before its first read, SQLite makes an index of the log in
 * memory: from the checksums of its frames, as if nothing had been checkpointed. It does not believe a `-shm` that
 * another program has kept alive: https://www.sqlite.org/wal.html#use_of_wal_without_shared_memory
 */
async function connectAlone(file: string, opened: DisposableStack): Promise<DatabaseSync> {
  const db = opened.use(connect(file, 'write'));
  const begin =
    'PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; SELECT 1 FROM sqlite_schema';
  await retryWhileBusy(() => db.exec(begin));
  return db;
}

/** How many frames of the log are whole and committed. Less than 0 if there is no log. */
function framesOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA wal_checkpoint(NOOP)').get()!['log']);
}

/**
 * Puts a copy that is on the disk in the place of the log, and empties the old file, which the only connection still has
 * open: its close cannot checkpoint from that, and leaves the database and the copy as they are.
 */
async function replaceLog(wal: string): Promise<void> {
  // What a start has left that was killed. The service lock keeps others out.
  await rm(`${wal}.partial`, { force: true });
  await using old = await open(wal, 'r+');
  await writeWholeFile(wal, {
    check() {},
    write: (copy) => pipeline(fs.createReadStream(wal), fs.createWriteStream(copy, { flush: true })),
  });
  await old.truncate();
}

/**
 * Cuts off the last pages of the database that are all in the log, so that the checkpoint gives them new blocks. After a
 * power failure in between, the next start finds them in the log.
 *
 * @param frames of the log: https://www.sqlite.org/fileformat.html#the_write_ahead_log
 */
function cutLoggedEnd(database: number, wal: string, frames: number): void {
  const log = fs.openSync(wal, 'r');
  const uint32 = Buffer.alloc(4);
  const uint32At = (position: number) => {
    fs.readSync(log, uint32, 0, 4, position);
    return uint32.readUInt32BE();
  };
  const pageSize = uint32At(8);
  const logged = new Set(Array.from({ length: frames }, (_, n) => uint32At(32 + n * (24 + pageSize))));
  fs.closeSync(log);
  const { size } = fs.fstatSync(database);
  let pages = Math.ceil(size / pageSize);
  // SQLite takes a file without its first page for a new one.
  while (pages > 1 && logged.has(pages)) pages--;
  fs.ftruncateSync(database, Math.min(size, pages * pageSize));
}
