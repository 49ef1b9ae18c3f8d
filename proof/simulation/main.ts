import { parseArgs } from 'node:util';
import { firstViolation } from './first-violation.ts';
import { runSchedule } from './run-schedule.ts';
import { SCENARIOS } from './scenarios.ts';

const USAGE = `usage: npm run simulate -- [options]
  --seeds N    how many schedules of each scenario (default: 1000)
  --from N     the first seed (default: 1)
  --only NAME  one scenario: ${SCENARIOS.map(({ name }) => name).join(', ')}
  --flaw NAME  breaks a promise on purpose; the simulation must find it
  --trace      prints every event of the schedules`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
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

for (const scenario of chosen) {
  for (let seed = from; values.trace && seed < from + seeds; seed++) {
    const { trace } = await runSchedule(scenario, seed, values.flaw);
    print(trace.join('\n'));
  }
  const startedMs = performance.now();
  const found = await firstViolation(scenario, { from, seeds, flaw: values.flaw });
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  print(found ?? `${scenario.name}: seeds ${from} to ${from + seeds - 1}: no violation (${seconds} s)`);
  if (found !== undefined) process.exitCode = 1;
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
