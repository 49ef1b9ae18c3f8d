import { parseArgs } from 'node:util';
import { countFrom, play } from './play.ts';
import { runSchedule, type Scenario } from './run-schedule.ts';
import { SCENARIOS } from './scenarios.ts';
import { describeStates } from '../states.ts';

/** A run with at least this number of schedules per scenario must reach every rare state. */
const FULL_RUN = 5_000;

const USAGE = `usage: npm run simulate -- [options]
  --seeds N    the number of schedules per scenario (default: ${FULL_RUN}); at least ${FULL_RUN} must reach every rare state
  --from N     the first seed (default: 1)
  --only NAME  plays one scenario: ${SCENARIOS.map(({ name }) => name).join(', ')}
  --flaw NAME  puts a fault in on purpose, which the simulation must find
  --trace      prints every event of the schedules`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    seeds: { type: 'string', default: `${FULL_RUN}` },
    from: { type: 'string', default: '1' },
    only: { type: 'string' },
    flaw: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
});

const firstSeed = wholeNumber(values.from);
const seeds = wholeNumber(values.seeds);
const scenarios = SCENARIOS.filter(({ name }) => values.only === undefined || values.only === name);
const knowsFlaw = values.flaw === undefined || scenarios.some(({ flaws }) => flaws.includes(values.flaw!));
if (scenarios.length === 0 || !knowsFlaw) exitWithUsage();

if (values.help) print(USAGE);
else for (const scenario of scenarios) await playAndPrint(scenario);

async function playAndPrint(scenario: Scenario): Promise<void> {
  if (values.trace) await printTraces(scenario);
  const startedMs = performance.now();
  const { flaw } = values;
  const { violation, reached } = await play(scenario, { seeds: countFrom(firstSeed, seeds), flaw });
  const range = `seeds ${firstSeed} to ${firstSeed + seeds - 1}`;
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  print(violation ?? `${scenario.name}: ${range}: no violation (${seconds} s)`);
  const stateLines = describeStates(scenario.states, reached);
  print(stateLines);
  const isFullRun = seeds >= FULL_RUN && values.flaw === undefined;
  if (violation !== undefined || (isFullRun && stateLines.includes('NEVER'))) process.exitCode = 1;
}

async function printTraces(scenario: Scenario): Promise<void> {
  for (const seed of countFrom(firstSeed, seeds)) {
    const { trace } = await runSchedule(scenario, seed, values.flaw);
    print(trace.join('\n'));
  }
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) exitWithUsage();
  return number;
}

function exitWithUsage(): never {
  process.stderr.write(`${USAGE}\n`);
  process.exit(2);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
