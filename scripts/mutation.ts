/**
 * Mutation testing, a folder of src at a time. The tests of a folder are those of its mirror in test.
 *
 *   npm run mutation -- domain adapters/json
 *   npm run mutation -- adapters/sqlite --mutate 'src/adapters/sqlite/file/*.ts' --disable-bail
 *
 * Writes Stryker's JSON report to reports/mutation/FOLDER.json.
 */
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';

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
if (positionals.length === 0) throw new Error('usage: npm run mutation -- FOLDER… [--mutate GLOB]');

for (const folder of positionals) {
  process.env['MUTATION_TESTS'] = (values.tests ?? [`test/${folder}/**/*.test.ts`]).join(' ');
  const fileName = `reports/mutation/${folder.replaceAll('/', '-')}.json`;
  await new Stryker({
    mutate: values.mutate ?? [`src/${folder}/**/*.ts`],
    jsonReporter: { fileName },
    disableBail: values['disable-bail'],
    dryRunOnly: values['dry-run-only'],
  }).runMutationTest();
}
