import { describe, expect, it } from 'vitest';
import { countFrom, play } from './play.ts';
import { runSchedule } from './run-schedule.ts';
import { SCENARIOS } from './scenarios.ts';
import { describeStates } from '../states.ts';

/** How many schedules of each scenario run here. The schedules of `seedsOfRareStates` run in addition. */
const SEEDS = 200;

describe.each(SCENARIOS)('the simulation of $name', (scenario) => {
  const seeds = new Set([...countFrom(1, SEEDS), ...scenario.seedsOfRareStates]);

  it(`finds no violation in ${seeds.size} schedules, which together reach every rare state`, async () => {
    const { violation, reached } = await play(scenario, { seeds });
    expect(violation).toBeUndefined();
    expect(describeStates(scenario.states, reached)).not.toContain('NEVER');
  });

  it('runs the same events each time for one seed, and other events for the next seed', async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const { trace } = await runSchedule(scenario, seed);
      expect((await runSchedule(scenario, seed)).trace).toStrictEqual(trace);
      expect((await runSchedule(scenario, seed + 1)).trace).not.toStrictEqual(trace);
    }
  });

  it.each(scenario.flaws)('finds a violation when the code or its model has the flaw %s', async (flaw) => {
    const { violation } = await play(scenario, { seeds, flaw });
    expect(violation).toContain(`npm run simulate -- --only ${scenario.name}`);
  });
});
