import type { Loss, UnsyncedEvent } from './disk.ts';

/** The bytes of a sector. A disk writes a sector wholly or not at all. */
const SECTOR_BYTES = 512;

/**
 * For each `maxLost`: how many of the last unsynced events are tried one by one, and with 2 also in pairs. Older events
 * are not tried one by one, because a checkpoint of a large log has a thousand events, and the search would take too
 * long.
 */
const TRIED_EVENTS = { 1: 4, 2: 6 };

/**
 * The losses that a power cut may cause: no event, all unsynced events, one event, two events, or the end of one write
 * (a torn write, of which only the first sectors are kept).
 *
 * @param maxLost with 2, all these losses. With 1, no two events are lost together, and no write is torn
 */
export function* losses(unsynced: readonly UnsyncedEvent[], maxLost: 1 | 2): Generator<Loss> {
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
