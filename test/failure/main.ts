import { cpus, tmpdir } from 'node:os';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { AWAY_SCENARIOS } from './away-scenarios.ts';
import { MONGODB_SCENARIOS } from './mongodb-scenarios.ts';
import { surveyMembers } from './mongodb-store.ts';
import { ReplicaSet } from './replica-set.ts';
import { perform, type Result } from './scenario.ts';
import { SQLITE_SCENARIOS } from './sqlite-scenarios.ts';
import { surveyFile } from './sqlite-store.ts';
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

let begun = performance.now();
function show(result: Result) {
  results.push(result);
  console.log(
    `${result.broken.length === 0 ? 'passed' : 'FAILED'}  ${result.scenario}  ${Math.round(performance.now() - begun)} ms`,
  );
  begun = performance.now();
  console.log(
    JSON.stringify({ ...result.figures, p99: undefined }),
    JSON.stringify(result.figures?.p99),
    JSON.stringify(result.bars),
    result.notes.join(),
    result.leftOut,
  );
  for (const line of result.broken) console.log(`        ${line}`);
}
for (let repetition = 1; repetition <= repetitions; repetition++) {
  for (const scenario of SQLITE_SCENARIOS.filter(wanted)) {
    await using directory = await temporaryDirectory('failure');
    const store = { directory: directory.path, file: join(directory.path, 'petstore.db') };
    show(await perform(scenario, store, { form, survey: surveyFile, histories }));
  }
  const mongo = [...MONGODB_SCENARIOS, ...AWAY_SCENARIOS].filter(wanted);
  if (mongo.length === 0) continue;
  await using set = await ReplicaSet.start();
  for (const [index, scenario] of mongo.entries()) {
    show(
      await perform(scenario, { set, database: `pets_${index}` }, { form, survey: surveyMembers, histories }),
    );
  }
}
console.log(histories);
process.exitCode = results.some(({ broken }) => broken.length > 0) ? 1 : 0;
