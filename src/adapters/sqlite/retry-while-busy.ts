import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy, translated } from './errors.ts';

/** How long work waits for a lock of another connection before it fails. */
export const BUSY_TIMEOUT_MS = 5_000;

/** The pause between two attempts. */
export const BUSY_PAUSE_MS = 5;

/**
 * Repeats the work while another connection has the file locked (SQLITE_BUSY). SQLite's own busy timeout would block
 * the event loop instead.
 *
 * @param timeoutMs {@link BUSY_TIMEOUT_MS} by default
 * @throws the error of SQLite, SQLITE_BUSY included
 */
export async function retryWhileBusy<T>(work: () => T, timeoutMs = BUSY_TIMEOUT_MS): Promise<T> {
  const untilMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= untilMs) throw error;
    }
    await sleep(BUSY_PAUSE_MS);
  }
}

/**
 * Like {@link retryWhileBusy}, with SQLite's errors translated for the ports.
 *
 * @throws {StorageUnavailable}
 */
export async function retryAndTranslate<T>(work: () => T, timeoutMs = BUSY_TIMEOUT_MS): Promise<T> {
  try {
    return await retryWhileBusy(work, timeoutMs);
  } catch (error) {
    throw translated(error);
  }
}
