import { randomInt } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../../test/support/process.ts';
import { loadAverage, machine } from './machine.ts';
import { renderPage } from './page.ts';
import { describeResult, formatTables, computeTotals } from './results.ts';
import type { PlayOptions, Result } from './scenario.ts';
import { Lane, type PlayableScenario, PLAYS } from './scenarios.ts';
import type { Form } from './stage.ts';

const USAGE = `The failure suite breaks real processes under load, and checks that no acknowledged pet is lost.

  npm run test:failure                    plays all scenarios three times; writes proof/failure/results.md
  npm run test:failure -- --short         plays the scenarios of the short form once, in about five minutes
  npm run test:failure -- --only SIGSTOP  plays the scenarios whose name contains SIGSTOP; does not write results.md
                          --repetitions 5 plays the scenarios five times
                          --lanes 2       plays two scenarios at the same time, except those of --part alone
                          --part beside   plays only the scenarios that tolerate other work on the machine
                          --part alone    plays only the other scenarios: they measure times of about a second
                          --seed 7        decides what the clients send
                          --report FILE   writes the counts as JSON, in the format of vitest's report
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    repetitions: { type: 'string' },
    lanes: { type: 'string', default: '1' },
    part: { type: 'string', default: 'both' },
    seed: { type: 'string' },
    report: { type: 'string' },
  },
});

/**
 * The passes of each part, in order. `false`: scenarios that may run beside others. `true`: scenarios that run alone.
 */
const PASSES_OF_PART: Readonly<Record<Part, readonly boolean[]>> = {
  both: [false, true],
  beside: [false],
  alone: [true],
};

type Part = 'both' | 'beside' | 'alone';

const form: Form = values.short ? 'short' : 'full';
const part = parsePart(values.part);
const repetitions = parsePositiveNumber(values.repetitions ?? (values.short ? '1' : '3'));
const seed = Number(values.seed ?? randomInt(1e6));
const results: Result[] = [];

function parsePart(text: string): Part {
  if (text === 'both' || text === 'beside' || text === 'alone') return text;
  throw new Error(`--part must be beside, alone or both, not ${text}`);
}

function parsePositiveNumber(text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new Error(`not a positive number: ${text}`);
  return number;
}

/** Returns the text in `results.md` about all histories: their length, their requests and their violations. */
function describeHistories(): string {
  const { minutes, requests, violations } = computeTotals(results);
  return `${minutes.toFixed(1)} minutes of history with ${requests} requests: ${violations} violations`;
}

async function playOne(lane: Lane, scenario: PlayableScenario, options: PlayOptions): Promise<void> {
  const beginMs = performance.now();
  const result = await scenario.playOn(lane, options);
  results.push(result);
  console.log(describeResult(result, (performance.now() - beginMs) / 1000));
  if (result.failures.length > 0) {
    console.log(
      `            to repeat: npm run test:failure -- --only '${scenario.name}' --seed ${options.seed}`,
    );
  }
}

async function playAll(historyDirectory: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const lanes = Array.from({ length: parsePositiveNumber(values.lanes) }, () => stack.use(new Lane()));
  const scenarios = PLAYS.filter(({ name, isFullFormOnly }) => {
    return name.includes(values.only) && !(form === 'short' && isFullFormOnly);
  });
  for (let index = 0; index < repetitions; index++) {
    // Each repetition has another seed.
    const options = { form, historyDirectory, seed: seed + index };
    console.log(`\nrepetition ${index + 1} of ${repetitions}, seed ${options.seed}`);
    for (const isAlone of PASSES_OF_PART[part]) {
      // All lanes take from this one queue, so each scenario is played once.
      const queue = scenarios.filter(({ isPlayedAlone = false }) => isPlayedAlone === isAlone).values();
      const runningLanes = lanes.slice(0, isAlone ? 1 : lanes.length).map(async (lane) => {
        for (const scenario of queue) await playOne(lane, scenario, options);
      });
      await Promise.all(runningLanes);
    }
  }
}

async function main(): Promise<void> {
  const historyDirectory = await mkdtemp(join(tmpdir(), 'petstore-histories-'));
  const averageBefore = loadAverage();
  await playAll(historyDirectory);

  const failedCount = results.filter(({ failures }) => failures.length > 0).length;
  const skippedCount = results.filter(
    (result) => result.skipReason !== undefined && result.failures.length === 0,
  ).length;
  const passedCount = results.length - failedCount - skippedCount;
  const pageText = renderPage({
    command: [
      'npm run test:failure',
      ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : []),
    ].join(' '),
    machine: [
      ...(await machine()),
      `seed ${seed}`,
      `load average ${averageBefore} at the beginning, ${loadAverage()} at the end`,
    ],
    tables: formatTables(results),
    closing: `${passedCount} passed, ${failedCount} failed, ${skippedCount} left out. ${describeHistories()}.`,
  });
  console.log(`\n${pageText}`);
  const isFull = form === 'full' && values.only === '' && part === 'both';
  if (isFull) await writeFile(join(ROOT, 'proof/failure/results.md'), pageText);
  if (values.report !== undefined) {
    const counts = {
      numPassedTests: passedCount,
      numFailedTests: failedCount,
      numPendingTests: skippedCount,
    };
    await writeFile(values.report, JSON.stringify({ success: failedCount === 0, ...counts }));
  }
  // A run proves nothing if no scenario passed. A full run also fails if no scenario reached one of the rare states,
  // which the page marks with NEVER: nothing shows that the service is correct in such a state.
  if (failedCount > 0 || passedCount === 0 || (isFull && pageText.includes('NEVER'))) {
    process.exitCode = 1;
    console.log(`the histories of the clients are in ${historyDirectory}`);
  } else {
    await rm(historyDirectory, { recursive: true });
  }
}

if (values.help) process.stdout.write(USAGE);
else await main();
