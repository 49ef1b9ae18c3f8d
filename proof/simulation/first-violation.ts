import { runSchedule, type Scenario } from './run-schedule.ts';

export type Seeds = {
  readonly from: number;
  readonly seeds: number;
  readonly flaw?: string | undefined;
};

/** @returns what went wrong in the first bad schedule, and the command that replays it; `undefined` if all are good */
export async function firstViolation(
  scenario: Scenario,
  { from, seeds, flaw }: Seeds,
): Promise<string | undefined> {
  for (let seed = from; seed < from + seeds; seed++) {
    const { violations } = await runSchedule(scenario, seed, flaw);
    if (violations.length === 0) continue;
    const replay = `npm run simulate -- --only ${scenario.name} --from ${seed} --seeds 1 --trace`;
    const withFlaw = flaw === undefined ? '' : ` --flaw ${flaw}`;
    return `${scenario.name}, seed ${seed}:\n${violations.join('\n')}\nreplay: ${replay}${withFlaw}`;
  }
  return undefined;
}
