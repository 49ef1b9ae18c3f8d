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

  npm run fuzz                        10,000 requests with a random seed; so many must reach every state
  npm run fuzz -- --requests 1000000
              --seed 7                the seed of an earlier run
              --first 1200 --cases 1  replays a case of that seed
              --store sqlite          memory by default
              --tls

A finding is written to proof/fuzz/corpus. npm test replays that folder.
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

/** A run of so many requests must reach every state. */
const FULL_RUN = 10_000;

const seed = Number(values.seed);
const options = `${values.store === 'memory' ? '' : ` --store ${values.store}`}${values.tls ? ' --tls' : ''}`;

async function main(): Promise<void> {
  await using directory = await temporaryDirectory('fuzz', { inMemory: true });
  const databaseUrl = values.store === 'sqlite' ? `sqlite:${join(directory.path, 'petstore.db')}` : 'memory:';
  await using target = await Target.start(databaseUrl, values.tls);
  const begunMs = performance.now();
  const cases = values.cases === undefined ? undefined : Number(values.cases);
  const isOver = (progress: Progress) =>
    target.failures.length > 0 ||
    progress.requests >= Number(values.requests) ||
    (cases !== undefined && progress.cases >= cases);
  const afterRound = (progress: Progress) => {
    const seconds = ((performance.now() - begunMs) / 1000).toFixed(0);
    console.log(
      `${seconds} s: ${progress.requests} requests, ${progress.answers} answers, ${progress.pets} pets`,
    );
  };
  console.log(`npm run fuzz -- --seed ${seed} --first ${values.first}${options}`);
  const { findings, requests, answers, ...played } = await campaign({
    address: target.address,
    seed,
    first: Number(values.first),
    isOver,
    afterRound,
    ...(cases !== undefined && { casesARound: cases }),
  });
  for (const finding of findings) await report(finding, target);
  for (const line of target.failures) console.log(line);
  const states = describeStates(FUZZ_STATES, played.reached);
  console.log(states);
  const bad = findings.length + target.failures.length;
  console.log(
    `${requests} requests in ${played.cases} cases, ${answers} answers, ${played.pets} pets: ${bad} findings`,
  );
  const lacksStates = requests >= FULL_RUN && states.includes('NEVER');
  if (bad > 0 || answers === 0 || lacksStates) process.exitCode = 1;
}

/** Prints a finding, and writes the case that shows it. */
async function report({ number, cases, problems }: Finding, target: Target): Promise<void> {
  console.log(`FINDING: npm run fuzz -- --seed ${seed} --first ${number} --cases ${cases}${options}`);
  for (const problem of problems) console.log(`  ${problem}`);
  if (cases > 1) return;
  const { fuzzCase } = makeCase(seed, number);
  if ((await playAlone(fuzzCase, target.address)).length === 0) {
    console.log('  It takes other cases at the same time: alone, this one has no problem.');
    return;
  }
  const file = join(ROOT, `proof/fuzz/corpus/seed-${seed}-case-${number}.json`);
  await writeFile(file, `${JSON.stringify(fuzzCase, undefined, 2)}\n`);
  console.log(`  The case is in ${file}`);
}

if (values.help) process.stdout.write(USAGE);
else await main();
