import { execFile } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { numbers } from '../../test/support/numbers.ts';
import { searchStates, type SearchResult } from './enumerate.ts';
import { LIVES } from './lives.ts';
import { DATABASE, type Fault, Recording } from './recording.ts';

/** If a run syncs a file more than `MAX_SYNCS` times, only the first sync and the last five syncs are made to fail. */
const MAX_SYNCS = 12;
const LAST = 5;

/** How many lives are played at the same time. */
const LANES = 3;

/** `lives` counts how often the life was played. */
export type LifeResult = SearchResult & { readonly lives: number };

/**
 * Plays a life (a sequence of runs on one database) without a fault, then once with each chosen fault, and opens the
 * states of the files that a power cut may leave. Needs `cc`.
 *
 * @param pastRuns the runs before the life. Their database is closed. Other files are created beside its directory
 * @param scratch a directory for the files of a state, in memory if possible
 * @param openedRuns names of runs whose states were opened in another life. They are not opened a second time without a
 *   fault. The first run of this life is added
 */
export async function searchLife(
  name: string,
  pastRuns: Recording,
  scratch: string,
  openedRuns: Set<string>,
  isChosen: (fault: Fault) => boolean = () => true,
): Promise<LifeResult> {
  const library = `${pastRuns.directory}.so`;
  const source = join(import.meta.dirname, 'failing-sync.c');
  await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
  const baseline = await playLife(name, pastRuns, 0);
  if (baseline.failures.length > 0)
    throw new Error(`"${name}" fails without a fault: ${baseline.failures.join()}`);
  let { states, problems } = await searchStates(baseline, scratch, openedRuns);
  openedRuns.add(baseline.runs[1]!.name);
  const faults = [...faultsIn(baseline, library)].filter(isChosen);
  const lives = 1 + faults.length;
  const playAll = async (_: unknown, lane: number) => {
    for (let fault = faults.shift(); fault !== undefined; fault = faults.shift()) {
      const played = await playLife(name, pastRuns, lane, fault);
      // A run may sync less often than without a fault, and then its fault does not happen.
      if (!played.events.some(({ type }) => type === 'failed')) continue;
      const found = await searchStates(played, join(scratch, `${lane}`));
      const { run, file, sync, isEvicted } = fault;
      const label = `"${name}", run ${run}, write-back ${sync} of ${file}${isEvicted ? ', evicted' : ''}`;
      states += found.states;
      problems = [...problems, ...[...played.failures, ...found.problems].map((each) => `${label}: ${each}`)];
    }
  };
  await Promise.all(Array.from({ length: LANES }, playAll));
  return { lives, states, problems };
}

async function playLife(name: string, pastRuns: Recording, lane: number, fault?: Fault): Promise<Recording> {
  const directory = `${pastRuns.directory}-${lane}`;
  await cp(pastRuns.directory, directory, { recursive: true });
  const recording = new Recording(directory, fault);
  await recording.addPastRuns(pastRuns.events);
  await LIVES[name]!(recording);
  await rm(directory, { recursive: true });
  return recording;
}

/**
 * The faults of a life: first, for the database and for its log, pages that are lost after the first run without an
 * error to any program. Then each failing sync, with and without an eviction of the lost pages from the cache. The
 * syncs of the last run do not fail, because the last run is the start that should find all pets.
 */
function* faultsIn({ events, runs, directory }: Recording, library: string): Generator<Fault> {
  for (const file of [DATABASE, `${DATABASE}-wal`]) yield { library, run: 1, file, sync: 0, isEvicted: true };
  for (const [run, { first, end }] of [...runs.entries()].slice(1, -1)) {
    const syncs = events.slice(first, end).filter((event) => event.type === 'sync');
    for (const [path, { length }] of Map.groupBy(syncs, ({ path: synced }) => synced)) {
      if (path === directory || path.endsWith('-journal')) continue;
      const file = path.slice(directory.length + 1);
      for (const i of numbers(length).filter((n) => length <= MAX_SYNCS || n === 0 || n >= length - LAST)) {
        for (const isEvicted of [false, true]) yield { library, run, file, sync: i + 1, isEvicted };
      }
    }
  }
}
