import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../../test/support/process.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { campaign, type Finding, playAlone, type Progress } from './campaign.ts';
import { makeCase } from './make-case.ts';
import { FUZZ_STATES } from './judge.ts';
import { describeStates } from '../states.ts';
import { Target } from './target.ts';

const USAGE = `The fuzzer: changed, split, pipelined and interleaved requests on raw sockets, and checks of every answer.

  npm run fuzz                        10,000 requests with a random seed; fails if they miss a rare state
  npm run fuzz -- --requests 1000000
              --seed 7                the seed of an earlier run
              --first 1200 --cases 1  only the case 1200 of that seed
              --store sqlite          the default is memory
              --tls

A case with a wrong answer is written to proof/fuzz/corpus. npm test plays the cases in this folder.
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    requests: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    first: { type: 'string', default: '0' },
    cases: { type: 'string' },
    store: { type: 'string', default: 'memory' },
    tls: { type: 'boolean', default: false },
  },
});

/** A run of at least so many requests must reach every rare state. */
const FULL_RUN_REQUESTS = 10_000;

const seed = Number(values.seed);
const replayOptions = `${values.store === 'memory' ? '' : ` --store ${values.store}`}${values.tls ? ' --tls' : ''}`;

async function main(): Promise<void> {
  await using directory = await temporaryDirectory('fuzz', { inMemory: true });
  const databaseUrl = values.store === 'sqlite' ? `sqlite:${join(directory.path, 'petstore.db')}` : 'memory:';
  await using target = await Target.start(databaseUrl, values.tls);
  const startMs = performance.now();
  const cases = values.cases === undefined ? undefined : Number(values.cases);
  const isOver = (progress: Progress) =>
    target.failures.length > 0 ||
    progress.requests >= Number(values.requests) ||
    (cases !== undefined && progress.cases >= cases);
  const afterRound = (progress: Progress) => {
    const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
    console.log(
      `${seconds} s: ${progress.requests} requests, ${progress.answers} answers, ${progress.pets} pets`,
    );
  };
  console.log(`npm run fuzz -- --seed ${seed} --first ${values.first}${replayOptions}`);
  const { findings, requests, answers, ...totals } = await campaign({
    address: target.address,
    seed,
    first: Number(values.first),
    isOver,
    afterRound,
    ...(cases !== undefined && { casesPerRound: cases }),
  });
  for (const finding of findings) await report(finding, target);
  for (const line of target.failures) console.log(line);
  const states = describeStates(FUZZ_STATES, totals.reached);
  console.log(states);
  const findingCount = findings.length + target.failures.length;
  console.log(
    `${requests} requests in ${totals.cases} cases, ${answers} answers, ${totals.pets} pets: ${findingCount} findings`,
  );
  const hasMissedState = requests >= FULL_RUN_REQUESTS && states.includes('NEVER');
  if (findingCount > 0 || answers === 0 || hasMissedState) process.exitCode = 1;
}

/** Prints a finding. Writes its case to the corpus if the case has problems when it is played alone. */
async function report({ number, cases, problems }: Finding, target: Target): Promise<void> {
  console.log(`FINDING: npm run fuzz -- --seed ${seed} --first ${number} --cases ${cases}${replayOptions}`);
  for (const problem of problems) console.log(`  ${problem}`);
  if (cases > 1) return;
  const { fuzzCase } = makeCase(seed, number);
  if ((await playAlone(fuzzCase, target.address)).length === 0) {
    console.log('  Played alone, the case has no problem. It needs other cases at the same time.');
    return;
  }
  const file = join(ROOT, `proof/fuzz/corpus/seed-${seed}-case-${number}.json`);
  await writeFile(file, `${JSON.stringify(fuzzCase, undefined, 2)}\n`);
  console.log(`  The case is in ${file}`);
}

if (values.help) process.stdout.write(USAGE);
else await main();
