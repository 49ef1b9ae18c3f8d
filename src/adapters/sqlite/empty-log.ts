import { DatabaseSync } from 'node:sqlite';
import { isMainThread, workerData } from 'node:worker_threads';

/**
 * The program of the thread that empties a large write-ahead log, as far as readers let it. The long part, PASSIVE, is in
 * the way of no reader or writer. https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
 */
function emptyLog(file: string): void {
  using db = new DatabaseSync(file, { timeout: 0 });
  db.prepare('PRAGMA wal_checkpoint(PASSIVE)').all();
  // Neither waits for other connections: its row says what was left undone.
  db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
}

if (!isMainThread) emptyLog(String(workerData));
