import { execFile } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { numbers } from '../../test/support/numbers.ts';
import { type Enumerated, enumerate } from './enumerate.ts';
import { LIVES } from './lives.ts';
import { DATABASE, type Fault, Recording } from './recording.ts';

/** If a run syncs a file more often, only the first sync and some of the last ones fail. */
const MANY = 12;
const LAST = 5;

/** How many lives are played at once. */
const LANES = 3;

/**
 * Plays a life after a past without a fault, then with one of the chosen faults at a time. Needs `cc`.
 *
 * @param past of a database that was closed; other files go beside its directory
 * @param scratch a directory in memory, if possible
 * @param opened the names of first runs that other lives have had; without a fault, their states are not opened again
 */
export async function searchLife(
  name: string,
  past: Recording,
  scratch: string,
  opened: Set<string>,
  isChosen: (fault: Fault) => boolean = () => true,
): Promise<Enumerated & { readonly lives: number }> {
  const library = `${past.directory}.so`;
  const source = join(import.meta.dirname, 'failing-sync.c');
  await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
  const plain = await playLife(name, past, 0);
  if (plain.refusals.length > 0) throw new Error(`"${name}" fails without a fault: ${plain.refusals.join()}`);
  let { states, wrong } = await enumerate(plain, scratch, opened);
  opened.add(plain.runs[1]!.name);
  const faults = [...faultsIn(plain, library)].filter(isChosen);
  const lives = 1 + faults.length;
  const playAll = async (_: unknown, lane: number) => {
    for (let fault = faults.shift(); fault !== undefined; fault = faults.shift()) {
      const played = await playLife(name, past, lane, fault);
      // Some runs sync less often than the one without a fault.
      if (!played.events.some(({ type }) => type === 'failed')) continue;
      const found = await enumerate(played, join(scratch, `${lane}`));
      const { run, file, at, isEvicted } = fault;
      const what = `"${name}", run ${run}, write-back ${at} of ${file}${isEvicted ? ', evicted' : ''}`;
      states += found.states;
      wrong = [...wrong, ...[...played.refusals, ...found.wrong].map((each) => `${what}: ${each}`)];
    }
  };
  await Promise.all(Array.from({ length: LANES }, playAll));
  return { lives, states, wrong };
}

async function playLife(name: string, past: Recording, lane: number, fault?: Fault): Promise<Recording> {
  const directory = `${past.directory}-${lane}`;
  await cp(past.directory, directory, { recursive: true });
  const recording = new Recording(directory, fault);
  await recording.addPast(past.events);
  await LIVES[name]!(recording);
  await rm(directory, { recursive: true });
  return recording;
}

/** The faults of a life: each write-back but those of the last run, and one after the first run that no program is told of. */
function* faultsIn({ events, runs, directory }: Recording, library: string): Generator<Fault> {
  for (const file of [DATABASE, `${DATABASE}-wal`]) yield { library, run: 1, file, at: 0, isEvicted: true };
  for (const [index, { first, end }] of runs.slice(1, -1).entries()) {
    const syncs = events.slice(first, end).filter((event) => event.type === 'sync');
    for (const [path, { length }] of Map.groupBy(syncs, ({ path: synced }) => synced)) {
      if (path === directory || path.endsWith('-journal')) continue;
      const file = path.slice(directory.length + 1);
      for (const at of numbers(length).filter((n) => length <= MANY || n === 0 || n >= length - LAST)) {
        for (const isEvicted of [false, true]) yield { library, run: index + 1, file, at: at + 1, isEvicted };
      }
    }
  }
}
