import type { Stage } from './stage.ts';

const LINES = [/has no primary/, /^requests fail/, /has a primary again/, /^requests succeed again/];

/** Each service must have told of one outage of MongoDB. Keys that are in use bring another warning. */
export function expectOutageLines(stage: Stage): void {
  for (const { warnings } of stage.services) {
    const told = warnings.filter((line) => line !== 'the use of keys was not recorded');
    const isWhole = told.length === LINES.length && LINES.every((line, n) => line.test(told[n]!));
    stage.expect(`four lines tell of the outage: ${told.join('; ')}`, isWhole);
  }
}
