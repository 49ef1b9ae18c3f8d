/**
 * Mutation testing, a folder of src at a time. The tests of a folder are those of its mirror in test. For the storages
 * and the tokens they include `test/contracts`.
 *
 *   npm run mutation -- domain adapters/json
 *   npm run mutation -- adapters/sqlite --mutate 'src/adapters/sqlite/*.ts'
 *   npm run mutation -- domain --disable-bail
 *
 * Leaves Stryker's reports in reports/mutation and writes the scores into proof/mutation/results.md. Without bail, a mutant meets
 * all tests that reach it, and the tests that kill none are printed.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { type MutationReport, writeScores } from '../../scripts/mutation-scores.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Instead of all files of the folder. */
    mutate: { type: 'string', multiple: true },
    /** Instead of all tests of the folder. */
    tests: { type: 'string', multiple: true },
    'disable-bail': { type: 'boolean', default: false },
    'dry-run-only': { type: 'boolean', default: false },
  },
});
if (positionals.length === 0)
  throw new Error('usage: npm run mutation -- FOLDER… [--mutate GLOB] [--tests GLOB]');

for (const folder of positionals) {
  const ofPort = /^adapters\/(?:memory|mongodb|sqlite|tokens)/.test(folder)
    ? ['test/contracts/*.test.ts']
    : [];
  process.env['MUTATION_TESTS'] = (values.tests ?? [`test/${folder}/**/*.test.ts`, ...ofPort]).join(' ');
  const part = values.mutate === undefined ? '' : `-${Date.now()}`;
  const report = `reports/mutation/${folder.replaceAll('/', '-')}${part}.json`;
  mkdirSync('reports/mutation', { recursive: true });
  await new Stryker({
    mutate: values.mutate ?? [`src/${folder}/**/*.ts`],
    jsonReporter: { fileName: report },
    disableBail: values['disable-bail'],
    dryRunOnly: values['dry-run-only'],
  }).runMutationTest();
  if (values['dry-run-only']) continue;
  writeScores();
  if (values['disable-bail']) printIdleTests(JSON.parse(readFileSync(report, 'utf8')) as MutationReport);
}

function printIdleTests({ files, testFiles }: MutationReport): void {
  const mutants = Object.values(files).flatMap((file) => file.mutants);
  const busy = new Set(mutants.flatMap(({ killedBy = [] }) => killedBy));
  for (const [path, { tests }] of Object.entries(testFiles)) {
    for (const { id, name } of tests) if (!busy.has(id)) console.log(`kills nothing: ${path}: ${name}`);
  }
}
