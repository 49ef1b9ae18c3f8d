import type { Stage } from './stage.ts';
import { until } from './until.ts';

const LINES = [/has no primary/, /^requests fail/, /has a primary again/, /^requests succeed again/];

/** Each service must tell of one outage of MongoDB. Keys that are in use bring another warning. */
export async function expectOutageLines(stage: Stage): Promise<void> {
  for (const service of stage.services) {
    const told = await until('the end of the outage in the log', () => {
      const lines = service.warnings.filter((line) => line !== 'the use of keys was not recorded');
      return lines.some((line) => LINES[3]!.test(line)) && lines;
    });
    const isWhole = told.length === LINES.length && LINES.every((line, n) => line.test(told[n]!));
    stage.expect(`four lines tell of the outage: ${told.join('; ')}`, isWhole);
  }
}
