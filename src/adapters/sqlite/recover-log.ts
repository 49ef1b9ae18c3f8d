import { createReadStream, createWriteStream } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import type { StorageHost } from '../../application/ports/storage-health.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { connect, fileOf, sizeBytesOf } from './connection.ts';
import { endUnclosed, isBusy, retryWhileBusy, setupError } from './errors.ts';
import { readVersion } from './schema.ts';

/**
 * Moves what a process has left in the log into the database, and waits for the disk. The process may have ended because
 * a sync has failed. Then the page cache may show pages that the disk does not have, which a later sync does not write.
 * So the bytes of the log are first written again. docs/storage.md#when-a-sync-fails has a picture.
 *
 * A failure ends the process, because closing a connection would checkpoint: all but that another program has the file
 * open.
 *
 * @param reader a connection that only reads, and has read. It is closed. While it was open, the end of another
 *   connection checkpointed nothing. Its own end never does
 * @throws {StorageSetupError} when another program has the file open for more than 5 s
 */
export async function recoverLog(reader: DatabaseSync, host: StorageHost): Promise<void> {
  const file = fileOf(reader);
  const wal = `${file}-wal`;
  if (sizeBytesOf(wal) === 0) return reader.close();
  using opened = new DisposableStack();
  try {
    const writer = opened.use(connect(file, 'write'));
    // Keeps other programs from writing to the log meanwhile.
    await retryWhileBusy(() => writer.exec('BEGIN IMMEDIATE'));
    await pipeline(createReadStream(wal), createWriteStream(wal, { flags: 'r+', flush: true }));
    writer.close();
    reader.close();
    // With this mode before its first read, SQLite makes an index of the log in memory: from the checksums of its
    // frames, as if nothing had been checkpointed. It does not believe a `-shm` that another program has kept alive.
    // https://www.sqlite.org/wal.html#use_of_wal_without_shared_memory
    const alone = opened.use(connect(file, 'write'));
    alone.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON');
    await retryWhileBusy(() => readVersion(alone));
    alone.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    if (!isBusy(error)) endUnclosed((setupError(file, error) as Error).message, host);
    throw new StorageSetupError(
      `the SQLite file ${file} was not closed, and another program has it open; stop that program and try again`,
      { cause: error },
    );
  }
}
