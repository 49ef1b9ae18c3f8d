import { describe, expect, it } from 'vitest';
import { firstViolation } from './first-violation.ts';
import { runSchedule } from './run-schedule.ts';
import { SCENARIOS } from './scenarios.ts';

/** How many schedules of each scenario run here. `npm run simulate` runs more. */
const SEEDS = 200;

describe.each(SCENARIOS)('the simulation of $name', (scenario) => {
  it(`finds no violation in ${SEEDS} schedules`, async () => {
    expect(await firstViolation(scenario, { from: 1, seeds: SEEDS })).toBeUndefined();
  });

  it('repeats a schedule, event by event, and differs from seed to seed', async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const { trace } = await runSchedule(scenario, seed);
      expect((await runSchedule(scenario, seed)).trace).toStrictEqual(trace);
      expect((await runSchedule(scenario, seed + 1)).trace).not.toStrictEqual(trace);
    }
  });

  it.each(scenario.flaws)('finds the flaw %s', async (flaw) => {
    const found = await firstViolation(scenario, { from: 1, seeds: SEEDS, flaw });
    expect(found).toContain(`npm run simulate -- --only ${scenario.name}`);
  });
});
