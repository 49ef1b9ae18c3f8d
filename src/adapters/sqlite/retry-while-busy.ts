import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy, translated } from './errors.ts';

/** How long work waits for a lock of another connection before it fails. */
export const BUSY_DEADLINE_MS = 5_000;

/** The pause between two attempts. */
export const BUSY_PAUSE_MS = 5;

/**
 * Repeats the work while another connection has the file locked (SQLITE_BUSY). SQLite's own busy timeout would block
 * the event loop instead.
 *
 * @param deadlineMs {@link BUSY_DEADLINE_MS} by default
 * @throws the error of SQLite, SQLITE_BUSY included
 */
export async function retryWhileBusy<T>(work: () => T, deadlineMs = BUSY_DEADLINE_MS): Promise<T> {
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

/**
 * Like {@link retryWhileBusy}, with SQLite's errors translated for the ports.
 *
 * @throws {StorageUnavailable}
 */
export async function retryAndTranslate<T>(work: () => T, deadlineMs = BUSY_DEADLINE_MS): Promise<T> {
  try {
    return await retryWhileBusy(work, deadlineMs);
  } catch (error) {
    throw translated(error);
  }
}
