import { describe, expect, it } from 'vitest';
import { exhaust } from './exhaust.ts';
import type { Scenario } from './run-schedule.ts';
import { twoServices } from './two-services.ts';

describe('the exhaustive search', () => {
  it('finds no violation in any schedule within one deviation', async () => {
    const { schedules, violation } = await exhaust(twoServices, 1);
    expect(violation).toBeUndefined();
    // The default schedule and one for each alternative of each choice. `npm run simulate -- --deviations 3` plays more.
    expect(schedules).toBeGreaterThan(50);
  });

  it('plays every combination of choices within the deviations, and each once', async () => {
    const played: string[] = [];
    const threeChoices: Pick<Scenario, 'begin'> = {
      begin: ({ random }) => {
        const choices = [random.below(2), random.below(3), random.below(2)];
        return () => void played.push(choices.join(''));
      },
    };
    const { schedules } = await exhaust(threeChoices, 2);
    const within = ['000', '100', '010', '020', '001', '110', '120', '101', '011', '021'];
    expect(played.toSorted()).toStrictEqual(within.toSorted());
    expect(schedules).toBe(within.length);
  });

  it.each(twoServices.flaws)('finds the flaw %s within two deviations', async (flaw) => {
    const { violation } = await exhaust(twoServices, 2, flaw);
    expect(violation).toBeDefined();
  });
});
