import { hash } from 'node:crypto';
import { type DirtyPage, Disk } from './disk.ts';
import type { DiskEvent } from './disk-event.ts';
import { losses } from './losses.ts';
import { openState } from './open-state.ts';
import { PAST, type Recording } from './recording.ts';

export type Enumerated = {
  /** How many different states were opened. */
  readonly states: number;
  /** The first promises that were broken, and starts that were refused. */
  readonly wrong: readonly string[];
};

const MAX_WRONG = 5;

/** After the first events of a run, and after a failure, only every so many-th moment is tried, and each step of a checkpoint. */
const STRIDE = 173;
const DENSE_EVENTS = 90;

/** In a run with more events, only one is lost at once: its log is large. */
const LONG_EVENTS = 1_000;

/** Of the writes after a failure, only every so many-th is a moment. */
const WRITE_STRIDE = 3;

/** Whether a write-back that fails drops a page, in a run that began with event number `began`. */
type Failure = (page: DirtyPage, began: number) => boolean;

const FAILURES: Readonly<Record<string, Failure>> = {
  'all pages are dropped': () => true,
  'the first page is dropped': ({ index }) => index === 0,
  'the last page is dropped': ({ index, count }) => index === count - 1,
  // The kernel had tried to write them before. It tells the next program that opens the file and syncs it.
  'the pages of earlier runs are dropped': ({ number }, began) => number < began,
};

/**
 * Opens the states that a power cut during the recording may leave: at each moment, with everything or nothing of what
 * was not synced, and with at most two losses at once.
 *
 * If a write-back fails in the recording, it is enumerated for each way to fail, from the failure on. At each moment, a
 * power cut loses at most one event. In one more state there is no power cut, and programs read the cache.
 *
 * @param skipped the names of runs whose states are not opened
 */
export async function enumerate(
  recording: Pick<Recording, 'events' | 'runs' | 'build'>,
  scratch: string,
  skipped: ReadonlySet<string> = new Set(),
): Promise<Enumerated> {
  const seen = new Set<string>();
  const wrong: string[] = [];
  const types = new Set(recording.events.map(({ type }) => type));
  const hasFailed = types.has('failed');
  // After an eviction, programs have read what one way to fail has left.
  const failures = Object.entries(FAILURES).slice(0, hasFailed && !types.has('evicted') ? undefined : 1);
  for (const [failure, drops] of failures) {
    for (const { where, database, files, acknowledged, broken } of statesIn(recording, drops, skipped)) {
      const key = keyOf(files, acknowledged.size);
      if (seen.has(key) && broken === undefined) continue;
      seen.add(key);
      const problem = broken ?? (await openState(files, database, acknowledged, scratch, recording.build));
      if (problem !== undefined) wrong.push(`${hasFailed ? `${failure}, ` : ''}${where}: ${problem}`);
      if (wrong.length === MAX_WRONG) return { states: seen.size, wrong };
    }
  }
  return { states: seen.size, wrong };
}

/** The moment and what is lost, the files that are left, the promises, and why that of a file is broken. */
function* statesIn(
  { events, runs }: Pick<Recording, 'events' | 'runs'>,
  drops: Failure,
  skipped: ReadonlySet<string>,
) {
  let began = 0;
  const disk = new Disk((page) => drops(page, began));
  const promised = new Map<string, Buffer>();
  const acknowledgedIn: Record<string, Set<string>> = {};
  const failed = events.findIndex(({ type }) => type === 'failed');
  for (const { name, database, first, end } of runs) {
    began = first;
    const acknowledged = (acknowledgedIn[database] ??= new Set());
    for (let number = first; number < end; number++) {
      const event = events[number]!;
      disk.apply(event, number);
      if (event.type === 'acknowledged') for (const pet of event.pets) acknowledged.add(pet);
      if (event.type === 'written') promised.set(event.path, disk.cached().get(event.path)!);
      const isSkipped = failed >= 0 && event.type === 'write' && number % WRITE_STRIDE > 0;
      const isDense = number - Math.max(first, failed) < DENSE_EVENTS && !isSkipped;
      if (name === PAST || skipped.has(name) || number < failed) continue;
      const isOfCheckpoint = (event.type === 'sync' || event.type === 'truncate') && event.path === database;
      if (!isDense && number % STRIDE > 0 && !isOfCheckpoint) continue;
      const moment = `${name}, after event ${number - first} (${describe(event)})`;
      const state = (lost: string, all: ReadonlyMap<string, Buffer>) => {
        const files = new Map([...all].filter(([path]) => path.startsWith(database)));
        const broken = brokenFile(promised, all);
        return { where: `${moment}, ${lost}`, database, files, acknowledged, broken };
      };
      if (failed >= 0) yield state('from the cache', disk.cached());
      for (const loss of losses(disk.unsynced(), failed >= 0 || end - first > LONG_EVENTS ? 1 : 2)) {
        const lost = [...loss.events].map((each) => describe(events[each]!)).join(', ');
        yield state(`without [${lost}]`, disk.afterLoss(loss));
      }
    }
  }
}

/** A file is there from the end of its command on, and whole. */
function brokenFile(promised: ReadonlyMap<string, Buffer>, files: ReadonlyMap<string, Buffer>) {
  for (const [path, bytes] of promised) {
    const left = files.get(path);
    if (left?.equals(bytes) !== true) return `${path} is ${left === undefined ? 'missing' : 'damaged'}`;
  }
  return undefined;
}

function keyOf(files: ReadonlyMap<string, Buffer>, acknowledged: number): string {
  return [...files].map(([path, bytes]) => `${path} ${hash('md5', bytes)}`).join('\n') + acknowledged;
}

function describe(event: DiskEvent): string {
  if (!('path' in event)) return event.type;
  const name = event.path.slice(event.path.lastIndexOf('/') + 1);
  return event.type === 'write'
    ? `write ${name} ${event.offset}+${event.bytes.length}`
    : `${event.type} ${name}`;
}
