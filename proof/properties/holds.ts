import fc from 'fast-check';
import { relative } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from '../../test/support/process.ts';

/**
 * `npm test` sets neither variable, so each of its runs tries the same examples. `npm run test:properties` sets both.
 */
const { PROPERTY_SEED = '15', PROPERTY_TIMES = '1' } = process.env;

/**
 * Expects that the property is true for random examples. A failure shows the smallest counterexample that fast-check
 * finds, and the command that finds the counterexample once more.
 *
 * @param exampleCount how many examples `npm test` tries
 */
export async function holds<Ts>(property: fc.IRawProperty<Ts>, exampleCount: number): Promise<void> {
  const numRuns = exampleCount * Number(PROPERTY_TIMES);
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
