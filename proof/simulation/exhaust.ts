import { ChosenRandom, type Deviation } from './chosen-random.ts';
import { type Outcome, runSimulation, type Scenario } from './run-schedule.ts';
import { Simulation } from './simulation.ts';
import type { State } from '../states.ts';

export type Exhausted = {
  /** How many schedules were played. Without a violation, these are all. */
  readonly schedules: number;
  /** The first bad schedule: what went wrong, and its events. */
  readonly violation: Pick<Outcome, 'violations' | 'trace'> | undefined;
  readonly reached: ReadonlySet<State>;
};

/**
 * Plays every schedule that differs from the default one in at most `deviations` choices, depth first. A choice is the
 * event that runs next, or what the model of the outside does.
 */
export async function exhaust(
  scenario: Pick<Scenario, 'begin'>,
  deviations: number,
  flaw?: string,
): Promise<Exhausted> {
  const reached = new Set<State>();
  const left: (readonly Deviation[])[] = [[]];
  let schedules = 0;
  for (let prefix = left.pop(); prefix !== undefined; prefix = left.pop()) {
    const random = new ChosenRandom(prefix);
    const outcome = await runSimulation(new Simulation(random), scenario, flaw);
    schedules++;
    for (const state of outcome.reached) reached.add(state);
    if (outcome.violations.length > 0) return { schedules, violation: outcome, reached };
    if (prefix.length < deviations) left.push(...furtherThan(prefix, random.alternatives));
  }
  return { schedules, violation: undefined, reached };
}

/** The same deviations and one more, behind them. */
function* furtherThan(
  prefix: readonly Deviation[],
  alternatives: readonly number[],
): Generator<readonly Deviation[]> {
  for (let at = (prefix.at(-1)?.at ?? -1) + 1; at < alternatives.length; at++) {
    for (let choice = 1; choice < alternatives[at]!; choice++) yield [...prefix, { at, choice }];
  }
}
