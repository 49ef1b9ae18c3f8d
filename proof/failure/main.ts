import { randomInt } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../../test/support/process.ts';
import { load, machine } from './machine.ts';
import { page } from './page.ts';
import { line, tables, totals } from './results.ts';
import type { How, Result } from './scenario.ts';
import { Lane, type Play, PLAYS } from './scenarios.ts';
import type { Form } from './stage.ts';

const USAGE = `The failure suite: breaks real processes under load, and checks that no acknowledged pet is lost.

  npm run test:failure                    three repetitions; writes proof/failure/results.md
  npm run test:failure -- --short         one repetition with shorter loads, in about five minutes
  npm run test:failure -- --only SIGSTOP  the scenarios whose name contains SIGSTOP; writes no page
                          --repetitions 5
                          --lanes 2       plays this many scenarios at once, and then those that must be alone
                          --part beside   without the scenarios that must be alone: other work can go on meanwhile
                          --part alone    these only: they measure times of the order of a second
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

/** Whether the scenarios of a part must be alone, in the order in which they are played. */
const PARTS: Readonly<Record<Part, readonly boolean[]>> = {
  both: [false, true],
  beside: [false],
  alone: [true],
};

type Part = 'both' | 'beside' | 'alone';

const form: Form = values.short ? 'short' : 'full';
const part = partNamed(values.part);
const repetitions = positive(values.repetitions ?? (values.short ? '1' : '3'));
const seed = Number(values.seed ?? randomInt(1e6));
const results: Result[] = [];

function partNamed(text: string): Part {
  if (text === 'both' || text === 'beside' || text === 'alone') return text;
  throw new Error(`not a part, which is beside, alone or both: ${text}`);
}

function positive(text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new Error(`not a positive number: ${text}`);
  return number;
}

/** What the histories say. */
function summary(): string {
  const sum = totals(results);
  return `${sum.minutes.toFixed(1)} minutes of history with ${sum.requests} requests: ${sum.violations} violations`;
}

async function playOne(lane: Lane, play: Play, how: How): Promise<void> {
  const beginMs = performance.now();
  const result = await play.on(lane, how);
  results.push(result);
  console.log(line(result, (performance.now() - beginMs) / 1000));
  if (result.broken.length > 0) {
    console.log(`            again: npm run test:failure -- --only '${play.name}' --seed ${how.seed}`);
  }
}

async function playAll(histories: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const lanes = Array.from({ length: positive(values.lanes) }, () => stack.use(new Lane()));
  const wanted = PLAYS.filter(({ name, onlyInFull }) => {
    return name.includes(values.only) && !(form === 'short' && onlyInFull);
  });
  for (let turn = 0; turn < repetitions; turn++) {
    // Its load has a seed of its own.
    const how = { form, histories, seed: seed + turn };
    console.log(`\nrepetition ${turn + 1} of ${repetitions}, seed ${how.seed}`);
    for (const mustBeAlone of PARTS[part]) {
      const queue = wanted.filter(({ alone = false }) => alone === mustBeAlone).values();
      const playing = lanes.slice(0, mustBeAlone ? 1 : lanes.length).map(async (lane) => {
        for (const play of queue) await playOne(lane, play, how);
      });
      await Promise.all(playing);
    }
  }
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
    command: [
      'npm run test:failure',
      ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : []),
    ].join(' '),
    machine: [
      ...(await machine()),
      `seed ${seed}`,
      `load average ${loadBefore} at the beginning, ${load()} at the end`,
    ],
    tables: tables(results),
    closing: `${passed} passed, ${failed} failed, ${leftOut} left out. ${summary()}.`,
  });
  console.log(`\n${text}`);
  const isFull = form === 'full' && values.only === '' && part === 'both';
  if (isFull) await writeFile(join(ROOT, 'proof/failure/results.md'), text);
  if (values.report !== undefined) {
    const counts = { numPassedTests: passed, numFailedTests: failed, numPendingTests: leftOut };
    await writeFile(values.report, JSON.stringify({ success: failed === 0, ...counts }));
  }
  // A run without a passed scenario proves nothing, nor does one that never reached a state.
  if (failed > 0 || passed === 0 || (isFull && text.includes('NEVER'))) {
    process.exitCode = 1;
    console.log(`the histories of the clients: ${histories}`);
  } else {
    await rm(histories, { recursive: true });
  }
}

if (values.help) process.stdout.write(USAGE);
else await main();
