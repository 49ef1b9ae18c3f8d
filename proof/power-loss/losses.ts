import type { Loss, Unsynced } from './disk.ts';

/** What a disk writes at once. */
const SECTOR_BYTES = 512;

/** More unsynced events than these are lost or kept together: the checkpoint of a large log has a thousand. */
const MAX_SINGLE = { 1: 4, 2: 6 };

/**
 * What a power cut may destroy: nothing, everything that is not synced, or at most two events at once. One of them may be
 * torn between two sectors instead.
 *
 * @param atMost 1 for at most one event, and none torn
 */
export function* losses(unsynced: readonly Unsynced[], atMost: 1 | 2): Generator<Loss> {
  yield { events: new Set() };
  yield { events: new Set(unsynced.map(({ number }) => number)) };
  const latest = unsynced.slice(-MAX_SINGLE[atMost]);
  for (const [index, one] of latest.entries()) {
    yield { events: new Set([one.number]) };
    if (atMost === 1) continue;
    for (const other of latest.slice(index + 1)) yield { events: new Set([one.number, other.number]) };
    for (let keptBytes = SECTOR_BYTES; keptBytes < one.bytes; keptBytes += SECTOR_BYTES) {
      yield { events: new Set(), torn: { number: one.number, keptBytes } };
    }
  }
}
