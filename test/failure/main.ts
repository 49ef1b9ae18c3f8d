import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MONGODB_SCENARIOS } from './mongodb-scenarios.ts';
import { surveyMembers } from './mongodb-store.ts';
import { ReplicaSet } from './replica-set.ts';
import { perform, type Result } from './scenario.ts';
import type { Form } from './stage.ts';

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string' },
    repetitions: { type: 'string' },
    report: { type: 'string' },
  },
});
const form: Form = values.short ? 'short' : 'full';
const repetitions = Number(values.repetitions ?? (values.short ? 1 : 3));
const wanted = ({ name }: { readonly name: string }) =>
  values.only === undefined || name.includes(values.only);
const histories = await mkdtemp(join(tmpdir(), 'petstore-histories-'));
const results: Result[] = [];

for (let repetition = 1; repetition <= repetitions; repetition++) {
  await using set = await ReplicaSet.start();
  for (const [index, scenario] of MONGODB_SCENARIOS.filter(wanted).entries()) {
    const begun = performance.now();
    const result = await perform(
      scenario,
      { set, database: `pets_${index}` },
      { form, survey: surveyMembers, histories },
    );
    results.push(result);
    console.log(
      `${result.broken.length === 0 ? 'passed' : 'FAILED'}  ${result.scenario}  ${Math.round(performance.now() - begun)} ms`,
    );
    console.log(
      JSON.stringify({ ...result.figures, p99: undefined }),
      JSON.stringify(result.figures?.p99),
      JSON.stringify(result.bars),
      result.notes.join(),
    );
    for (const line of result.broken) console.log(`        ${line}`);
  }
}
console.log(histories);
process.exitCode = results.some(({ broken }) => broken.length > 0) ? 1 : 0;
