import { SeededRandom } from '../../test/support/seeded-random.ts';
import { Simulation } from './simulation.ts';
import type { State } from '../states.ts';
import { virtualTime } from './virtual-time.ts';

/** A part of the program, with a model of the outside that it talks to. */
export type Scenario = {
  readonly name: string;
  /** Variants of the model or of the checks that break a promise. The simulation must find each of them. */
  readonly flaws: readonly string[];
  /** What a full run must reach. */
  readonly states: readonly State[];
  /** Seeds of schedules that reach the rarest of them. `npm test` plays them besides the first ones. */
  readonly rareSeeds: readonly number[];
  /**
   * Starts the callers.
   *
   * @param flaw one of `flaws`
   * @returns a function that checks what is left when no event is pending
   */
  readonly begin: (simulation: Simulation, flaw: string | undefined) => () => void;
};

export type Outcome = {
  /** What was violated. Empty for a good schedule. */
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly reached: ReadonlySet<State>;
};

/** Runs one schedule. Equal arguments give equal outcomes. */
export async function runSchedule(scenario: Scenario, seed: number, flaw?: string): Promise<Outcome> {
  const simulation = new Simulation(new SeededRandom(seed));
  const onUnhandled = (error: unknown) =>
    simulation.check(false, () => `a rejection that nothing handles: ${String(error)}`);
  process.on('unhandledRejection', onUnhandled);
  try {
    using _ = virtualTime(simulation);
    const verify = scenario.begin(simulation, flaw);
    await simulation.run();
    verify();
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
  return simulation;
}
