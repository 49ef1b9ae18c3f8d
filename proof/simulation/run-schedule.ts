import { SeededRandom } from '../../test/support/seeded-random.ts';
import { Simulation } from './simulation.ts';
import type { State } from '../states.ts';
import { virtualTime } from './virtual-time.ts';

/** A part of the service, with a model of the storage that it calls (the outside). */
export type Scenario = {
  readonly name: string;
  /**
   * The names of faults that can be put into the model or into the code under test. The simulation must find each
   * fault.
   */
  readonly flaws: readonly string[];
  /** The rare states that a full run must reach. */
  readonly states: readonly State[];
  /** Seeds of schedules that reach the rarest states. `npm test` plays them in addition to the first seeds. */
  readonly seedsOfRareStates: readonly number[];
  /**
   * Starts the callers.
   *
   * @param flaw one of `flaws`
   * @returns a function that checks the final state. It is called when no event is pending
   */
  readonly begin: (simulation: Simulation, flaw: string | undefined) => () => void;
};

export type Outcome = {
  /** One text per violated rule. Empty for a good schedule. */
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly reached: ReadonlySet<State>;
};

/** Runs one schedule. Equal arguments give equal outcomes. */
export async function runSchedule(scenario: Scenario, seed: number, flaw?: string): Promise<Outcome> {
  const simulation = new Simulation(new SeededRandom(seed));
  const onUnhandledRejection = (error: unknown) =>
    simulation.check(false, () => `no code handles this rejection: ${String(error)}`);
  process.on('unhandledRejection', onUnhandledRejection);
  try {
    using _ = virtualTime(simulation);
    const verify = scenario.begin(simulation, flaw);
    await simulation.run();
    verify();
  } finally {
    process.off('unhandledRejection', onUnhandledRejection);
  }
  return simulation;
}
