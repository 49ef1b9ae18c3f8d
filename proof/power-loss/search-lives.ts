import { execFile } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { numbers } from '../../test/support/numbers.ts';
import { type Enumerated, enumerate } from './enumerate.ts';
import { LIVES } from './lives.ts';
import { DATABASE, type Fault, Recording } from './recording.ts';

/** Of many syncs of a file in a run, the first and the last ones fail. */
const FIRST = 2;
const LAST = 8;

/** How many lives are played at once. */
const LANES = 3;

export type Found = Pick<Enumerated, 'states' | 'wrong'> & { readonly lives: number };

/** Plays lives of a database after a past, and opens the states that a power cut or a failed write-back may leave. */
export class LifeSearch {
  readonly #past: Recording;
  readonly #scratch: string;
  #lives = 0;
  /** Many lives have the same first run. Without a fault, its states are opened once. */
  readonly #known = new Set<string>();

  /**
   * @param past of a database that was closed; other files go beside its directory
   * @param scratch a directory in memory, if possible
   */
  constructor(past: Recording, scratch: string) {
    this.#past = past;
    this.#scratch = scratch;
  }

  /** Plays a life without a fault, then with one of the chosen faults at a time. Needs `cc`. */
  async search(name: string, isChosen: (fault: Fault) => boolean = () => true): Promise<Found> {
    const library = `${this.#past.directory}.so`;
    const source = join(import.meta.dirname, 'failing-sync.c');
    await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
    const before = this.#lives;
    const plain = await this.#play(name);
    if (plain.refusals.length > 0)
      throw new Error(`"${name}" fails without a fault: ${plain.refusals.join()}`);
    const [past, first, ...others] = plain.runs;
    const runs = [past!, { ...first!, isPast: this.#known.has(first!.name) }, ...others];
    this.#known.add(first!.name);
    let { states, wrong } = await enumerate({ events: plain.events, runs }, this.#scratch);
    const faults = [...faultsIn(plain, library)].filter(isChosen);
    const playAll = async (_: unknown, lane: number) => {
      for (let fault = faults.shift(); fault !== undefined; fault = faults.shift()) {
        const played = await this.#play(name, fault);
        // Some runs sync less often than the one without a fault.
        if (!played.events.some(({ type }) => type === 'failed')) continue;
        const found = await enumerate(played, join(this.#scratch, `${lane}`));
        const { run, file, at, isEvicted } = fault;
        const what = `"${name}", run ${run}, write-back ${at} of ${file}${isEvicted ? ', evicted' : ''}`;
        states += found.states;
        wrong = [...wrong, ...[...played.refusals, ...found.wrong].map((each) => `${what}: ${each}`)];
      }
    };
    await Promise.all(Array.from({ length: LANES }, playAll));
    return { lives: this.#lives - before, states, wrong };
  }

  async #play(name: string, fault?: Fault): Promise<Recording> {
    const directory = `${this.#past.directory}-${this.#lives++}`;
    await cp(this.#past.directory, directory, { recursive: true });
    const recording = new Recording(directory, fault);
    await recording.addPast(
      this.#past.events.flatMap((event) => (event.type === 'acknowledged' ? event.pets : [])),
    );
    await LIVES[name]!(recording);
    await rm(directory, { recursive: true });
    return recording;
  }
}

/** The faults of a life: each write-back but those of the last run, and one after the first run that no program is told of. */
function* faultsIn({ events, runs, directory }: Recording, library: string): Generator<Fault> {
  for (const file of [DATABASE, `${DATABASE}-wal`]) yield { library, run: 1, file, at: 0, isEvicted: true };
  for (const [index, { first, end }] of runs.slice(1, -1).entries()) {
    const syncs = events.slice(first, end).filter((event) => event.type === 'sync');
    for (const [path, { length }] of Map.groupBy(syncs, ({ path: synced }) => synced)) {
      if (path === directory || path.endsWith('-journal')) continue;
      const file = path.slice(directory.length + 1);
      for (const at of numbers(length).filter((number) => number < FIRST || number >= length - LAST)) {
        for (const isEvicted of [false, true]) yield { library, run: index + 1, file, at: at + 1, isEvicted };
      }
    }
  }
}
