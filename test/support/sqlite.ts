import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type Program, run } from './process.ts';

const WRITER = fileURLToPath(new URL('./sqlite-writer.ts', import.meta.url));

/** A path for a database, in a directory of its own that goes with the test. */
export async function newFile(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-sqlite-'));
  onTestFinished(async () => rm(directory, { recursive: true, force: true }));
  return join(directory, 'petstore.db');
}

/** Another program that has the file open. */
export function stranger(file: string, options: { readonly readOnly?: boolean } = {}): DatabaseSync {
  const db = new DatabaseSync(file, { readBigInts: true, ...options });
  onTestFinished(() => db[Symbol.dispose]());
  return db;
}

/** Another service, which stores pets for as many callers, one after the other each, until it is killed. */
export function writer(file: string, callers: number): Program {
  return run(process.execPath, [WRITER, file, `${callers}`]);
}

export function count(db: DatabaseSync): bigint {
  const { n } = db.prepare('SELECT count(*) AS n FROM pets').get() as { n: bigint };
  return n;
}

/**
 * How many transactions are in the write-ahead log: the frames that end one carry the size of the database, and the
 * frames of this log carry its salt. https://www.sqlite.org/fileformat.html#the_write_ahead_log
 */
export async function commits(file: string): Promise<number> {
  const log = await readFile(`${file}-wal`);
  const pageSize = log.readUInt32BE(8);
  const salt = log.readBigUInt64BE(16);
  let result = 0;
  for (let frame = 32; frame + 24 + pageSize <= log.length; frame += 24 + pageSize) {
    if (log.readBigUInt64BE(frame + 8) === salt && log.readUInt32BE(frame + 4) > 0) result++;
  }
  return result;
}
