import fc from 'fast-check';
import { relative } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from '../../test/support/process.ts';

/** By default, every run of `npm test` tries the same examples. `npm run test:properties` sets both variables. */
const { PROPERTY_SEED = '15', PROPERTY_TIMES = '1' } = process.env;

/**
 * Fails with the smallest counterexample that fast-check finds, and with the command that finds it again.
 *
 * @param runs how many examples `npm test` tries
 */
export async function holds<Ts>(property: fc.IRawProperty<Ts>, runs: number): Promise<void> {
  const numRuns = runs * Number(PROPERTY_TIMES);
  const result = await fc.check(property, {
    seed: Number(PROPERTY_SEED),
    numRuns,
    includeErrorInReport: true,
  });
  const counterexample = await fc.asyncDefaultReportMessage(result);
  expect(result.failed, `${counterexample}\n\nReplay: ${replayCommand()}\n`).toBe(false);
}

function replayCommand(): string {
  const file = relative(ROOT, expect.getState().testPath ?? '');
  return `npm run test:properties -- --seed ${PROPERTY_SEED} --times ${PROPERTY_TIMES} ${file}`;
}
