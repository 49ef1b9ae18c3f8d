import { parseArgs } from 'node:util';
import { runSchedule } from './run-schedule.ts';
import { SCENARIOS } from './scenarios.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    only: { type: 'string' },
    flaw: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
});
const first = Number(values.from);
const last = first + Number(values.seeds) - 1;
const chosen = SCENARIOS.filter(({ name }) => values.only === undefined || values.only === name);
if (chosen.length === 0) throw new Error(`--only is one of ${SCENARIOS.map(({ name }) => name).join(', ')}`);

for (const scenario of chosen) {
  let events = 0;
  const startedMs = performance.now();
  for (let seed = first; seed <= last; seed++) {
    const outcome = await runSchedule(scenario, seed, values.flaw);
    events += outcome.events;
    if (values.trace) console.log(outcome.trace.join('\n'));
    if (outcome.violations.length > 0) {
      console.log(`${scenario.name}, seed ${seed}:\n${outcome.violations.join('\n')}`);
      process.exitCode = 1;
      break;
    }
  }
  console.log(`${scenario.name}: seeds ${first} to ${last}, ${events} events, ${Math.round(performance.now() - startedMs)} ms`);
}
