import { runSchedule, type Scenario } from './run-schedule.ts';
import type { Reached, State } from './states.ts';

export type Seeds = {
  readonly seeds: Iterable<number>;
  readonly flaw?: string | undefined;
};

export type Played = {
  /** What went wrong in the first bad schedule, and the command that replays it. `undefined` if all are good. */
  readonly violation: string | undefined;
  readonly reached: ReadonlyMap<State, Reached>;
};

/** Plays schedules, until one violates a promise. */
export async function play(scenario: Scenario, { seeds, flaw }: Seeds): Promise<Played> {
  const reached = new Map<State, Reached>();
  for (const seed of seeds) {
    const outcome = await runSchedule(scenario, seed, flaw);
    for (const state of outcome.reached) {
      const { schedules, firstSeed } = reached.get(state) ?? { schedules: 0, firstSeed: seed };
      reached.set(state, { schedules: schedules + 1, firstSeed });
    }
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
