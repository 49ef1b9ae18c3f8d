import { runSchedule, type Scenario } from './run-schedule.ts';
import type { State } from './states.ts';

export type Seeds = {
  readonly seeds: Iterable<number>;
  readonly flaw?: string | undefined;
};

export type Played = {
  /** What went wrong in the first bad schedule, and the command that replays it. `undefined` if all are good. */
  readonly violation: string | undefined;
  /** How many of the schedules have reached each state. */
  readonly reached: ReadonlyMap<State, number>;
};

/** Plays schedules, until one violates a promise. */
export async function play(scenario: Scenario, { seeds, flaw }: Seeds): Promise<Played> {
  const reached = new Map<State, number>();
  for (const seed of seeds) {
    const outcome = await runSchedule(scenario, seed, flaw);
    for (const state of outcome.reached) reached.set(state, (reached.get(state) ?? 0) + 1);
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
