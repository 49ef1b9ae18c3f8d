import { hash } from 'node:crypto';
import { join } from 'node:path';
import { Disk } from './disk.ts';
import type { DiskEvent } from './disk-event.ts';
import { losses } from './losses.ts';
import { openState } from './open-state.ts';
import type { Recording } from './recording.ts';

export type Enumerated = {
  /** How many different states were opened. */
  readonly states: number;
  /** By run: how many states the start has refused, and one of its reasons. */
  readonly refused: ReadonlyMap<string, { readonly states: number; readonly why: string }>;
  /** The first promises that were broken. */
  readonly wrong: readonly string[];
};

const MAX_WRONG = 5;

/** In a long row of writes to one file, only every so many-th moment is tried. */
const STRIDE = 19;
const DENSE_EVENTS = 400;

/**
 * Opens every state that a power cut during the recording may leave: at each moment, with everything or nothing of what
 * was not synced, and with at most two losses at once.
 */
export async function enumerate(
  { events, runs }: Pick<Recording, 'events' | 'runs'>,
  scratch: string,
): Promise<Enumerated> {
  const disk = new Disk();
  const seen = new Set<string>();
  const refused = new Map<string, { readonly states: number; readonly why: string }>();
  const wrong: string[] = [];
  for (const { name, database, first, end } of runs) {
    const acknowledged = new Set(acknowledgedBefore(events, runs, database, first));
    for (let number = first; number < end; number++) {
      const event = events[number]!;
      disk.apply(event, number);
      if (event.type === 'acknowledged') for (const pet of event.pets) acknowledged.add(pet);
      if (!isTried(events, number, first)) continue;
      for (const loss of losses(disk.unsynced())) {
        const files = disk.afterLoss(loss);
        const missing = missingFiles(events, number, files);
        const key = keyOf(files, acknowledged.size);
        if (seen.has(key)) continue;
        seen.add(key);
        const opened =
          missing ?? (await openState(files, { database, acknowledged, scratch: join(scratch, 'state') }));
        const what = [...loss.events].map((lost) => describe(events[lost]!)).join(', ');
        const where = `${name}, after event ${number - first} (${describe(event)}), without [${what}]`;
        if (opened.is === 'wrong') wrong.push(`${where}: ${opened.why}`);
        if (opened.is === 'refused') {
          refused.set(name, { states: (refused.get(name)?.states ?? 0) + 1, why: opened.why });
        }
        if (wrong.length === MAX_WRONG) return { states: seen.size, refused, wrong };
      }
    }
  }
  return { states: seen.size, refused, wrong };
}

function acknowledgedBefore(
  events: readonly DiskEvent[],
  runs: Recording['runs'],
  database: string,
  upTo: number,
): readonly string[] {
  return runs
    .filter((run) => run.database === database && run.end <= upTo)
    .flatMap(({ first, end }) => events.slice(first, end))
    .flatMap((event) => (event.type === 'acknowledged' ? event.pets : []));
}

/** Every moment of the first events of a run, and later those around everything but one of many writes in a row. */
function isTried(events: readonly DiskEvent[], number: number, first: number): boolean {
  if (number - first < DENSE_EVENTS || number % STRIDE === 0) return true;
  const [event, next] = [events[number]!, events[number + 1]];
  return event.type !== 'write' || next === undefined || next.type !== 'write' || next.path !== event.path;
}

function missingFiles(events: readonly DiskEvent[], upTo: number, files: ReadonlyMap<string, Buffer>) {
  for (const event of events.slice(0, upTo + 1)) {
    if (event.type === 'written' && !files.has(event.path)) {
      return { is: 'wrong', why: `${event.path} is missing` } as const;
    }
  }
  return undefined;
}

function keyOf(files: ReadonlyMap<string, Buffer>, acknowledged: number): string {
  return [...files].map(([path, bytes]) => `${path} ${hash('md5', bytes)}`).join('\n') + acknowledged;
}

function describe(event: DiskEvent): string {
  if (event.type === 'acknowledged') return 'acknowledged';
  const name = event.path.slice(event.path.lastIndexOf('/') + 1);
  return event.type === 'write'
    ? `write ${name} ${event.offset}+${event.bytes.length}`
    : `${event.type} ${name}`;
}
