import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy } from './errors.ts';

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
