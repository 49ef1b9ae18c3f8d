import { parseArgs } from 'node:util';
import { countFrom, play } from './play.ts';
import { runSchedule, type Scenario } from './run-schedule.ts';
import { SCENARIOS } from './scenarios.ts';
import { describeStates } from '../states.ts';

/** A run of so many schedules must reach every state. */
const FULL_RUN = 5_000;

const USAGE = `usage: npm run simulate -- [options]
  --seeds N    how many schedules of each scenario (default: ${FULL_RUN}); from ${FULL_RUN} on, each state must be reached
  --from N     the first seed (default: 1)
  --only NAME  one scenario: ${SCENARIOS.map(({ name }) => name).join(', ')}
  --flaw NAME  breaks a promise on purpose; the simulation must find it
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

const from = wholeNumber(values.from);
const seeds = wholeNumber(values.seeds);
const chosen = SCENARIOS.filter(({ name }) => values.only === undefined || values.only === name);
const knowsFlaw = values.flaw === undefined || chosen.some(({ flaws }) => flaws.includes(values.flaw!));
if (chosen.length === 0 || !knowsFlaw) fail();

if (values.help) print(USAGE);
else for (const scenario of chosen) await playSome(scenario);

async function playSome(scenario: Scenario): Promise<void> {
  if (values.trace) await printTraces(scenario);
  const startedMs = performance.now();
  const { violation, reached } = await play(scenario, { seeds: countFrom(from, seeds), flaw: values.flaw });
  const range = `seeds ${from} to ${from + seeds - 1}`;
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  print(violation ?? `${scenario.name}: ${range}: no violation (${seconds} s)`);
  const states = describeStates(scenario.states, reached);
  print(states);
  const isFull = seeds >= FULL_RUN && values.flaw === undefined;
  if (violation !== undefined || (isFull && states.includes('NEVER'))) process.exitCode = 1;
}

async function printTraces(scenario: Scenario): Promise<void> {
  for (const seed of countFrom(from, seeds)) {
    const { trace } = await runSchedule(scenario, seed, values.flaw);
    print(trace.join('\n'));
  }
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) fail();
  return number;
}

function fail(): never {
  process.stderr.write(`${USAGE}\n`);
  process.exit(2);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
