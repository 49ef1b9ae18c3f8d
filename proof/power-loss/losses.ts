import type { Loss, Unsynced } from './disk.ts';

/** The bytes of a sector. A disk writes a sector wholly or not at all. */
const SECTOR_BYTES = 512;

/**
 * By `maxLost`: of how many of the last unsynced events single losses are tried. Older events are only lost or kept all
 * together, because the checkpoint of a large log has a thousand events.
 */
const TRIED_EVENTS = { 1: 4, 2: 6 };

/**
 * The losses that a power cut may cause: nothing, all unsynced events, one event, or two events. A write may also be torn:
 * only its first sectors are kept.
 *
 * @param maxLost with 1, a loss of some events is a loss of one event, and no write is torn
 */
export function* losses(unsynced: readonly Unsynced[], maxLost: 1 | 2): Generator<Loss> {
  yield { events: new Set() };
  yield { events: new Set(unsynced.map(({ number }) => number)) };
  const latest = unsynced.slice(-TRIED_EVENTS[maxLost]);
  for (const [index, one] of latest.entries()) {
    yield { events: new Set([one.number]) };
    if (maxLost === 1) continue;
    for (const other of latest.slice(index + 1)) yield { events: new Set([one.number, other.number]) };
    for (let keptBytes = SECTOR_BYTES; keptBytes < one.bytes; keptBytes += SECTOR_BYTES) {
      yield { events: new Set(), torn: { number: one.number, keptBytes } };
    }
  }
}
