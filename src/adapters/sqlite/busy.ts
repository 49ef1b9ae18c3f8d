import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy, translated } from './errors.ts';

/** How long work waits for another connection that holds the file, before it fails. */
export const BUSY_DEADLINE_MS = 5_000;

/** How long to wait before the file is tried again. */
export const BUSY_PAUSE_MS = 5;

/** Does the work as soon as no other connection is in its way. The event loop runs on meanwhile. */
export async function whenFree<T>(work: () => T, deadlineMs = BUSY_DEADLINE_MS): Promise<T> {
  const until = performance.now() + deadlineMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error;
    }
    await sleep(BUSY_PAUSE_MS);
  }
}

/** As {@link whenFree}, and what it rejects with is in the words of the ports. */
export async function whenReady<T>(work: () => T, deadlineMs = BUSY_DEADLINE_MS): Promise<T> {
  try {
    return await whenFree(work, deadlineMs);
  } catch (error) {
    throw translated(error);
  }
}

/** All of the work, durably, or nothing of it. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } finally {
    // After some errors SQLite has done it by itself: https://www.sqlite.org/lang_transaction.html
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}
