import { runSchedule, type Scenario } from './run-schedule.ts';
import { noteReached, type ReachedStates } from '../states.ts';

export type PlayOptions = {
  readonly seeds: Iterable<number>;
  readonly flaw?: string | undefined;
};

export type PlayResult = {
  /**
   * The violations of the first bad schedule, and the command that replays it. `undefined` if all schedules are good.
   */
  readonly violation: string | undefined;
  /** The rare states that the schedules reached. */
  readonly reached: ReachedStates;
};

/** Plays one schedule per seed. The run ends after the first schedule with a violation. */
export async function play(scenario: Scenario, { seeds, flaw }: PlayOptions): Promise<PlayResult> {
  const reached: ReachedStates = new Map();
  for (const seed of seeds) {
    const outcome = await runSchedule(scenario, seed, flaw);
    noteReached(reached, outcome.reached, seed);
    if (outcome.violations.length === 0) continue;
    const replayCommand = `npm run simulate -- --only ${scenario.name} --from ${seed} --seeds 1 --trace`;
    const flawOption = flaw === undefined ? '' : ` --flaw ${flaw}`;
    const violation = `${scenario.name}, seed ${seed}:\n${outcome.violations.join('\n')}\nreplay: ${replayCommand}${flawOption}`;
    return { violation, reached };
  }
  return { violation: undefined, reached };
}

/** Yields `count` whole numbers: `first`, `first + 1`, and so on. */
export function* countFrom(first: number, count: number): Generator<number> {
  for (let number = first; number < first + count; number++) yield number;
}
