/**
 * Prints the slowest test files of a run, in seconds.
 *
 *   npm test -- --reporter=json --outputFile=report.json; node scripts/slowest-tests.ts report.json
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

type Report = {
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
  }[];
};

const { testResults } = JSON.parse(readFileSync(process.argv[2] ?? 'report.json', 'utf8')) as Report;
const files = testResults.map(({ name, startTime, endTime }) => ({ name, ms: endTime - startTime }));
for (const { name, ms } of files.toSorted((a, b) => b.ms - a.ms).slice(0, 20)) {
  console.log(`${(ms / 1000).toFixed(1).padStart(6)}  ${relative('.', name)}`);
}
