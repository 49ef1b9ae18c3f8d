import fc from 'fast-check';
import { relative } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from '../support/process.ts';

/** The seed of `npm test`: a run there finds the same as the run before. `npm run test:properties` takes a new one. */
const SEED = 15;

const { PROPERTY_SEED = String(SEED), PROPERTY_TIMES = '1' } = process.env;

/**
 * Fails with the smallest counterexample that fast-check finds, and with the command that finds it again.
 *
 * @param runs how many examples `npm test` tries. `npm run test:properties` tries a multiple.
 */
export async function holds<Ts>(property: fc.IRawProperty<Ts>, runs: number): Promise<void> {
  const numRuns = runs * Number(PROPERTY_TIMES);
  const result = await fc.check(property, { seed: Number(PROPERTY_SEED), numRuns });
  const found = await fc.asyncDefaultReportMessage(result);
  expect(result.failed, found === undefined ? undefined : `${found}\n\nReplay: ${replayCommand()}`).toBe(
    false,
  );
}

function replayCommand(): string {
  const { currentTestName = '', testPath = '' } = expect.getState();
  const name = RegExp.escape(currentTestName.replaceAll(' > ', ' '));
  const options = `--seed ${PROPERTY_SEED} --times ${PROPERTY_TIMES}`;
  return `npm run test:properties -- ${options} ${relative(ROOT, testPath)} -t ${JSON.stringify(name)}`;
}
