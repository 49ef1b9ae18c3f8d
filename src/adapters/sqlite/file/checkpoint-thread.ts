import { DatabaseSync } from 'node:sqlite';
import { isMainThread, workerData } from 'node:worker_threads';

/**
 * The program of a worker thread. It checkpoints a large WAL, as far as readers allow. PASSIVE does the long part and
 * blocks neither readers nor writers: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
 */
function checkpoint(file: string): void {
  using db = new DatabaseSync(file, { timeout: 0 });
  db.prepare('PRAGMA wal_checkpoint(PASSIVE)').all();
  // Neither pragma throws when another connection is in the way: it does what it can.
  db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
}

if (!isMainThread) checkpoint(String(workerData));
