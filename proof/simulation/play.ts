import { runSchedule, type Scenario } from './run-schedule.ts';
import { noteReached, type Reached } from '../states.ts';

export type Seeds = {
  readonly seeds: Iterable<number>;
  readonly flaw?: string | undefined;
};

export type Played = {
  /** What went wrong in the first bad schedule, and the command that replays it. `undefined` if all are good. */
  readonly violation: string | undefined;
  readonly reached: Reached;
};

/** Plays schedules, until one violates a promise. */
export async function play(scenario: Scenario, { seeds, flaw }: Seeds): Promise<Played> {
  const reached: Reached = new Map();
  for (const seed of seeds) {
    const outcome = await runSchedule(scenario, seed, flaw);
    noteReached(reached, outcome.reached, seed);
    if (outcome.violations.length === 0) continue;
    const replay = `npm run simulate -- --only ${scenario.name} --from ${seed} --seeds 1 --trace`;
    const withFlaw = flaw === undefined ? '' : ` --flaw ${flaw}`;
    const violation = `${scenario.name}, seed ${seed}:\n${outcome.violations.join('\n')}\nreplay: ${replay}${withFlaw}`;
    return { violation, reached };
  }
  return { violation: undefined, reached };
}

/** Whole numbers from the first one on. */
export function* countFrom(first: number, count: number): Generator<number> {
  for (let number = first; number < first + count; number++) yield number;
}
