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

/** After the first events of a run, only every so many-th moment is tried, and each step of a checkpoint. */
const STRIDE = 173;
const DENSE_EVENTS = 90;

const NOTHING = { events: new Set<number>() };

/**
 * Opens the states that a power cut during the recording may leave: at each moment, with everything or nothing of what
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
  const promised = new Map<string, Buffer>();
  for (const { name, database, first, end } of runs) {
    const acknowledged = new Set(acknowledgedBefore(events, runs, database, first));
    for (let number = first; number < end; number++) {
      const event = events[number]!;
      disk.apply(event, number);
      if (event.type === 'acknowledged') for (const pet of event.pets) acknowledged.add(pet);
      if (event.type === 'written') promised.set(event.path, disk.afterLoss(NOTHING).get(event.path)!);
      if (number - first >= DENSE_EVENTS && number % STRIDE !== 0 && !ofCheckpoint(event, database)) continue;
      for (const loss of losses(disk.unsynced())) {
        const all = disk.afterLoss(loss);
        const broken = brokenFile(promised, all);
        const files = new Map([...all].filter(([path]) => path.startsWith(database)));
        const key = keyOf(files, acknowledged.size);
        if (seen.has(key) && broken === undefined) continue;
        seen.add(key);
        const opened =
          broken ?? (await openState(files, { database, acknowledged, scratch: join(scratch, 'state') }));
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

/** A step of a checkpoint that is not one of its many writes. */
function ofCheckpoint(event: DiskEvent, database: string): boolean {
  return (event.type === 'sync' || event.type === 'truncate') && event.path === database;
}

/** Why a command's promise of a file is broken: it is there from its end on, and whole. */
function brokenFile(promised: ReadonlyMap<string, Buffer>, files: ReadonlyMap<string, Buffer>) {
  for (const [path, bytes] of promised) {
    const left = files.get(path);
    if (left?.equals(bytes) !== true) {
      return { is: 'wrong', why: `${path} is ${left === undefined ? 'missing' : 'damaged'}` } as const;
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
