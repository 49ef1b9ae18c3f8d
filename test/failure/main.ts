import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../support/process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { AWAY_SCENARIOS } from './away-scenarios.ts';
import { LOG_SCENARIOS } from './log-scenarios.ts';
import { load, machine } from './machine.ts';
import { NETWORK_SCENARIOS } from './mongodb-network-scenarios.ts';
import { READS_SCENARIOS } from './mongodb-reads-scenario.ts';
import { MONGODB_SCENARIOS } from './mongodb-scenarios.ts';
import { surveyMembers } from './mongodb-store.ts';
import { page } from './page.ts';
import { ReplicaSet } from './replica-set.ts';
import { line, tables } from './results.ts';
import { ROLLING_SCENARIOS } from './rolling-scenarios.ts';
import { perform, type Result } from './scenario.ts';
import { SQLITE_FILE_SCENARIOS } from './sqlite-file-scenarios.ts';
import { SQLITE_SCENARIOS } from './sqlite-scenarios.ts';
import { surveyFile } from './sqlite-store.ts';
import type { Form } from './stage.ts';

const USAGE = `The failure suite: breaks real processes under load, and checks that no acknowledged pet is lost.

  npm run test:failure                    three repetitions; writes docs/failure-results.md
  npm run test:failure -- --short         one repetition with shorter loads, in about a minute and a half
  npm run test:failure -- --only SIGSTOP  the scenarios whose name contains SIGSTOP; writes no page
                          --repetitions 5
                          --report FILE   writes the counts as JSON, in the format of vitest's report
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    repetitions: { type: 'string' },
    report: { type: 'string' },
  },
});

const form: Form = values.short ? 'short' : 'full';
const repetitions = Number(values.repetitions ?? (values.short ? 1 : 3));
const results: Result[] = [];
const wanted = ({ name, onlyInFull }: { readonly name: string; readonly onlyInFull?: true }) =>
  name.includes(values.only) && !(form === 'short' && onlyInFull);

async function playAll(histories: string): Promise<void> {
  for (let repetition = 1; repetition <= repetitions; repetition++) {
    console.log(`\nrepetition ${repetition} of ${repetitions}`);
    await playSqlite(histories);
    await playMongo(histories);
  }
}

async function playSqlite(histories: string): Promise<void> {
  for (const scenario of [...SQLITE_SCENARIOS, ...SQLITE_FILE_SCENARIOS, ...LOG_SCENARIOS].filter(wanted)) {
    await using directory = await temporaryDirectory('failure');
    const store = { directory: directory.path, file: join(directory.path, 'petstore.db') };
    await show(() => perform(scenario, store, { form, survey: surveyFile, histories }));
  }
}

async function playMongo(histories: string): Promise<void> {
  let set: ReplicaSet | undefined;
  const all = [
    ...MONGODB_SCENARIOS,
    ...READS_SCENARIOS,
    ...NETWORK_SCENARIOS,
    ...AWAY_SCENARIOS,
    ...ROLLING_SCENARIOS,
  ];
  for (const [index, scenario] of all.filter(wanted).entries()) {
    set ??= await ReplicaSet.start();
    const store = { set, database: `pets_${index}` };
    const { broken } = await show(() => perform(scenario, store, { form, survey: surveyMembers, histories }));
    if (broken.length === 0) continue;
    // A failed scenario may have left the replica set in any state.
    await set[Symbol.asyncDispose]();
    set = undefined;
  }
  await set?.[Symbol.asyncDispose]();
}

async function show(play: () => Promise<Result>): Promise<Result> {
  const begun = performance.now();
  const result = await play();
  results.push(result);
  console.log(line(result, (performance.now() - begun) / 1000));
  return result;
}

async function main(): Promise<void> {
  const histories = await mkdtemp(join(tmpdir(), 'petstore-histories-'));
  const loadBefore = load();
  await playAll(histories);

  const failed = results.filter(({ broken }) => broken.length > 0).length;
  const leftOut = results.filter(
    (result) => result.leftOut !== undefined && result.broken.length === 0,
  ).length;
  const passed = results.length - failed - leftOut;
  const text = page({
    command: `npm run test:failure${values.short ? ' -- --short' : ''}`,
    repetitions,
    machine: [...(await machine()), `load average ${loadBefore} at the beginning, ${load()} at the end`],
    tables: tables(results),
    closing: `${passed} passed, ${failed} failed, ${leftOut} left out`,
  });
  console.log(`\n${text}`);
  if (form === 'full' && values.only === '') await writeFile(join(ROOT, 'docs/failure-results.md'), text);
  if (values.report !== undefined) {
    const counts = { numPassedTests: passed, numFailedTests: failed, numPendingTests: leftOut };
    await writeFile(values.report, JSON.stringify({ success: failed === 0, ...counts }));
  }
  // A run without a passed scenario proves nothing.
  if (failed > 0 || passed === 0) {
    process.exitCode = 1;
    console.log(`the histories of the clients: ${histories}`);
  } else {
    await rm(histories, { recursive: true });
  }
}

if (values.help) process.stdout.write(USAGE);
else await main();
