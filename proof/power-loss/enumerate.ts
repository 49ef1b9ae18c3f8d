import { hash } from 'node:crypto';
import { type DirtyPage, Disk } from './disk.ts';
import type { DiskEvent } from './disk-event.ts';
import { losses } from './losses.ts';
import { openState } from './open-state.ts';
import { PAST_RUNS, type Recording } from './recording.ts';

export type SearchResult = {
  /** The number of different states that were opened. */
  readonly states: number;
  /** The first problems: lost pets, ids that are assigned twice, missing files, refused starts. */
  readonly problems: readonly string[];
};

/** After this number of problems, the search ends. */
const MAX_PROBLEMS = 5;

/**
 * The search tries a power cut after each of the first 90 events of a run, and after each of the first 90 events from a
 * failed write-back on. Of the later events it tries every 173rd, and each step of a checkpoint.
 */
const STRIDE = 173;
const DENSE_EVENTS = 90;

/**
 * In a run with more events than this, no two events are lost together and no write is torn, because the log is large.
 */
const LONG_EVENTS = 1_000;

/** After a failed write-back, the search tries only every third write among the first 90 events. */
const WRITE_STRIDE = 3;

/**
 * Decides whether a failed write-back drops a page (see {@link Disk}). The run has begun with event number
 * `firstNumber`.
 */
type DropRule = (page: DirtyPage, firstNumber: number) => boolean;

const DROP_RULES: Readonly<Record<string, DropRule>> = {
  'all pages are dropped': () => true,
  'the first page is dropped': ({ index }) => index === 0,
  'the last page is dropped': ({ index, count }) => index === count - 1,
  // The kernel tried to write these pages after their run. The next program that opens and syncs the file receives the
  // error.
  'the pages of earlier runs are dropped': ({ number }, firstNumber) => number < firstNumber,
};

/**
 * Opens the states of the files that a power cut during the recording may leave. A power cut loses all unsynced events,
 * none of them, one or two of them, or the end of one write.
 *
 * If a write-back fails in the recording, the search begins at this failure, and is done once per rule for the dropped
 * pages. Then no two events are lost together, and no write is torn. In one more state per moment there is no power
 * cut, and the service reads the cache.
 *
 * @param scratch a directory for the files of a state
 * @param skippedRuns the names of runs whose states are not opened
 */
export async function searchStates(
  recording: Pick<Recording, 'events' | 'runs' | 'build'>,
  scratch: string,
  skippedRuns: ReadonlySet<string> = new Set(),
): Promise<SearchResult> {
  const openedKeys = new Set<string>();
  const problems: string[] = [];
  const types = new Set(recording.events.map(({ type }) => type));
  const hasFailed = types.has('failed');
  // With an eviction only the first rule applies, because the recorded programs have read the files that it left.
  const rules = Object.entries(DROP_RULES).slice(0, hasFailed && !types.has('evicted') ? undefined : 1);
  for (const [ruleName, drops] of rules) {
    for (const { moment, database, files, pets, fileProblem } of statesIn(recording, drops, skippedRuns)) {
      const key = keyOf(files, pets.size);
      if (openedKeys.has(key) && fileProblem === undefined) continue;
      openedKeys.add(key);
      const problem = fileProblem ?? (await openState(files, database, pets, scratch, recording.build));
      if (problem !== undefined) problems.push(`${hasFailed ? `${ruleName}, ` : ''}${moment}: ${problem}`);
      if (problems.length === MAX_PROBLEMS) return { states: openedKeys.size, problems };
    }
  }
  return { states: openedKeys.size, problems };
}

/**
 * The states to open: the moment with the lost events, the files, the pets that must be there, and a missing or damaged
 * file.
 */
function* statesIn(
  { events, runs }: Pick<Recording, 'events' | 'runs'>,
  drops: DropRule,
  skippedRuns: ReadonlySet<string>,
) {
  let runStart = 0;
  const disk = new Disk((page) => drops(page, runStart));
  const writtenFiles = new Map<string, Buffer>();
  const petsByDatabase: Record<string, Set<string>> = {};
  const failureNumber = events.findIndex(({ type }) => type === 'failed');
  for (const { name, database, first, end } of runs) {
    runStart = first;
    const pets = (petsByDatabase[database] ??= new Set());
    for (let number = first; number < end; number++) {
      const event = events[number]!;
      disk.apply(event, number);
      if (event.type === 'acknowledged') for (const pet of event.pets) pets.add(pet);
      if (event.type === 'written') writtenFiles.set(event.path, disk.cached().get(event.path)!);
      const isSkippedWrite = failureNumber >= 0 && event.type === 'write' && number % WRITE_STRIDE > 0;
      const isDense = number - Math.max(first, failureNumber) < DENSE_EVENTS && !isSkippedWrite;
      if (name === PAST_RUNS || skippedRuns.has(name) || number < failureNumber) continue;
      const isCheckpoint = (event.type === 'sync' || event.type === 'truncate') && event.path === database;
      if (!isDense && number % STRIDE > 0 && !isCheckpoint) continue;
      const moment = `${name}, after event ${number - first} (${describe(event)})`;
      const state = (loss: string, allFiles: ReadonlyMap<string, Buffer>) => {
        const files = new Map([...allFiles].filter(([path]) => path.startsWith(database)));
        const fileProblem = findFileProblem(writtenFiles, allFiles);
        return { moment: `${moment}, ${loss}`, database, files, pets, fileProblem };
      };
      if (failureNumber >= 0) yield state('read from the cache', disk.cached());
      for (const loss of losses(disk.unsynced(), failureNumber >= 0 || end - first > LONG_EVENTS ? 1 : 2)) {
        const lostEvents = [...loss.events].map((lost) => describe(events[lost]!)).join(', ');
        yield state(`without [${lostEvents}]`, disk.afterLoss(loss));
      }
    }
  }
}

/** Returns the first file that a command has written, and that is missing or has other content. */
function findFileProblem(writtenFiles: ReadonlyMap<string, Buffer>, files: ReadonlyMap<string, Buffer>) {
  for (const [path, bytes] of writtenFiles) {
    const content = files.get(path);
    if (content?.equals(bytes) !== true) return `${path} is ${content === undefined ? 'missing' : 'damaged'}`;
  }
  return undefined;
}

/** Two states with equal files and an equal number of acknowledged pets have one key. */
function keyOf(files: ReadonlyMap<string, Buffer>, petCount: number): string {
  return [...files].map(([path, bytes]) => `${path} ${hash('md5', bytes)}`).join('\n') + petCount;
}

function describe(event: DiskEvent): string {
  if (!('path' in event)) return event.type;
  const name = event.path.slice(event.path.lastIndexOf('/') + 1);
  return event.type === 'write'
    ? `write ${name} ${event.offset}+${event.bytes.length}`
    : `${event.type} ${name}`;
}
