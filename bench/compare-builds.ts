/**
 * The CPU time that two builds of the service take for a request. Rounds alternate between the builds. Each round
 * starts a new process, because two processes of one build differ by some percent.
 *
 *   node bench/compare-builds.ts BEFORE [AFTER] [--url URL] [--rounds 9] [--only list-20] [--set METRICS_PORT=0]...
 *
 * BEFORE and AFTER are checkouts with their packages installed. AFTER defaults to this checkout, and gets the variables
 * of `--set`. With the same checkout twice, they are all that differs. URL is one of:
 *
 *   memory:
 *   sqlite:           the default; a new file for each process
 *   mongodb://HOST/   a new database for each process
 *
 * Linux only: it reads /proc, pins the services to the first core, and itself to the second.
 */
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import { closedLoop, once } from './harness/load.ts';
import { FILL, KEY, oneConnection, type Workload, WORKLOADS } from './harness/workloads.ts';
import { cpuUsOf } from './support/cpu-time.ts';
import { ROOT, type RunningService, startService } from './support/service.ts';
import { summary } from './support/statistics.ts';

const CONNECTIONS = 16;
const WARM_UP_MS = 1_500;
const ROUND_MS = 1_500;

type Row = Workload & { readonly connections: number };

function databaseUrl(url: string, name: string, directory: string): string {
  if (url === 'sqlite:') return `sqlite:${join(directory, `${name}.db`)}`;
  return isMongodb ? `${url}bench_${name}_${process.pid}` : url;
}

/** Microseconds of CPU time for one request. */
async function measure({ port, pid }: RunningService, row: Row, ms: number): Promise<number> {
  const requests = row.requests('cursor').map((text) => Buffer.from(text));
  const before = cpuUsOf(pid);
  // MongoDB shares the core of the load.
  const load = await closedLoop({ ...row, port, requests, ms, sleepless: !isMongodb });
  return (cpuUsOf(pid) - before) / load.requests;
}

/** The cost of each workload in a new process. */
async function sample(
  checkout: string,
  DATABASE_URL: string,
  more: Readonly<Record<string, string>>,
): Promise<number[]> {
  const env = { DATABASE_URL, AUTO_MIGRATE: 'true', API_KEYS: KEY, ...more };
  await using service = await startService(env, { checkout, core: 0 });
  await once(
    service.port,
    FILL.map((text) => Buffer.from(text)),
    [201],
  );
  const costs: number[] = [];
  for (const row of rows) {
    await measure(service, row, WARM_UP_MS);
    costs.push(await measure(service, row, ROUND_MS));
  }
  return costs;
}

const { values, positionals } = parseArgs({
  options: {
    url: { type: 'string', default: 'sqlite:' },
    rounds: { type: 'string', default: '9' },
    only: { type: 'string', default: '' },
    set: { type: 'string', multiple: true, default: [] },
  },
  allowPositionals: true,
});
const [before, after = ROOT] = positionals;
if (before === undefined) throw new Error('usage: node bench/compare-builds.ts BEFORE [AFTER] [--url URL]');
const checkouts = { before: resolve(before), after: resolve(after) };
const env = {
  before: {},
  after: Object.fromEntries(values.set.map((text) => text.split(/=(.*)/s, 2) as [string, string])),
};
const isMongodb = values.url.startsWith('mongodb');
const together = WORKLOADS.map((workload) => ({ ...workload, connections: CONNECTIONS }));
const alone = WORKLOADS.filter((workload) => isMongodb && workload.alone).map((workload) => ({
  ...workload,
  name: oneConnection(workload.name),
  connections: 1,
}));
const rows = [...together, ...alone].filter(({ name }) => name.includes(values.only));
execFileSync('taskset', ['-pc', '1', String(process.pid)]);

await using directory = await temporaryDirectory('bench');
const samples: { before: number[]; after: number[] }[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  const measured = { before: [] as number[], after: [] as number[] };
  // Each build goes first in every second round.
  const order = round % 2 === 0 ? (['before', 'after'] as const) : (['after', 'before'] as const);
  for (const build of order) {
    const url = databaseUrl(values.url, `${build}_${round}`, directory.path);
    measured[build] = await sample(checkouts[build], url, env[build]);
  }
  samples.push(measured);
}

console.log(
  `CPU time of the service for a request, ${values.url}, ${values.rounds} rounds: median (quartiles)`,
);
const spread = (figures: readonly number[], digits: number) => summary(figures, digits, [0.25, 0.75]);
for (const [index, { name }] of rows.entries()) {
  const cost = (build: 'before' | 'after') => samples.map((measured) => measured[build][index] ?? NaN);
  const ratios = samples.map((measured) => (measured.after[index] ?? NaN) / (measured.before[index] ?? NaN));
  const columns = `before ${spread(cost('before'), 1)} us, after ${spread(cost('after'), 1)} us`;
  console.log(`${name.padEnd(24)} ${columns}, after/before ${spread(ratios, 3)}`);
}
