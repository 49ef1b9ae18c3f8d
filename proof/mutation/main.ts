/**
 * Runs mutation tests for one or more folders of `src`, one after another. A folder of `src` is tested by the folder of
 * the same name in `test`. The storages and the tokens are also tested by `test/contracts`.
 *
 *   npm run mutation -- domain adapters/json
 *   npm run mutation -- adapters/sqlite --mutate 'src/adapters/sqlite/*.ts'
 *   npm run mutation -- domain --disable-bail
 *
 * It writes Stryker's reports to reports/mutation and the scores to proof/mutation/results.md. With --disable-bail,
 * Stryker runs all tests of a mutant instead of stopping at the first one that fails. Then the tests that kill no
 * mutant are printed.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { type MutationReport, writeScores } from '../../scripts/mutation-scores.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** The files to change, instead of all files of the folder. */
    mutate: { type: 'string', multiple: true },
    /** The tests to run, instead of all tests of the folder. */
    tests: { type: 'string', multiple: true },
    'disable-bail': { type: 'boolean', default: false },
    'dry-run-only': { type: 'boolean', default: false },
  },
});
if (positionals.length === 0)
  throw new Error('usage: npm run mutation -- FOLDER… [--mutate GLOB] [--tests GLOB]');

for (const folder of positionals) {
  const contracts = /^adapters\/(?:memory|mongodb|sqlite|tokens)/.test(folder)
    ? ['test/contracts/*.test.ts']
    : [];
  process.env['MUTATION_TESTS'] = (values.tests ?? [`test/${folder}/**/*.test.ts`, ...contracts]).join(' ');
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
  const killers = new Set(mutants.flatMap(({ killedBy = [] }) => killedBy));
  for (const [path, { tests }] of Object.entries(testFiles)) {
    for (const { id, name } of tests) if (!killers.has(id)) console.log(`kills nothing: ${path}: ${name}`);
  }
}
