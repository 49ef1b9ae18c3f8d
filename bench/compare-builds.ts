/**
 * The CPU time that two builds of the service take for a request. Each round starts a new process of each build, because
 * two processes of one build differ by some percent. Slices of a fifth of a second alternate between them: the speed of
 * a core that others share changes within seconds.
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
/** The compiler works for some seconds. */
const FIRST_WARM_UP_MS = 5_000;
const WARM_UP_MS = 1_500;
const SLICE_MS = 200;
const SLICES = 8;

type Row = Workload & { readonly connections: number };

function databaseUrl(url: string, name: string, directory: string): string {
  if (url === 'sqlite:') return `sqlite:${join(directory, `${name}.db`)}`;
  return isMongodb ? `${url}bench_${name}_${process.pid}` : url;
}

type Build = 'before' | 'after';

/** The number of requests that a service has answered, and its CPU time for them in microseconds. */
type Cost = { requests: number; cpuUs: number };

async function measure({ port, pid }: RunningService, row: Row, ms: number): Promise<Cost> {
  const requests = row.requests('cursor').map((text) => Buffer.from(text));
  const begunUs = cpuUsOf(pid);
  // MongoDB shares the core of the load.
  const load = await closedLoop({ ...row, port, requests, ms, sleepless: !isMongodb });
  return { requests: load.requests, cpuUs: cpuUsOf(pid) - begunUs };
}

/** Microseconds of CPU time for one request of each workload, in a new process of each build. */
async function sample(round: number): Promise<Readonly<Record<Build, number[]>>> {
  const start = async (build: Build) => {
    const DATABASE_URL = databaseUrl(values.url, `${build}_${round}`, directory.path);
    const variables = { DATABASE_URL, AUTO_MIGRATE: 'true', API_KEYS: KEY, ...env[build] };
    const service = await startService(variables, { checkout: checkouts[build], core: 0 });
    const fill = FILL.map((text) => Buffer.from(text));
    await once(service.port, fill, [201]);
    return service;
  };
  // The process that starts first has been measured to cost some percent less.
  const order = round % 2 === 0 ? (['before', 'after'] as const) : (['after', 'before'] as const);
  await using first = await start(order[0]);
  await using second = await start(order[1]);
  const services =
    order[0] === 'before' ? { before: first, after: second } : { before: second, after: first };
  const costs = { before: [] as number[], after: [] as number[] };
  for (const build of order) await measure(services[build], rows[0]!, FIRST_WARM_UP_MS);
  for (const row of rows) {
    const sums = { before: { requests: 0, cpuUs: 0 }, after: { requests: 0, cpuUs: 0 } };
    for (const build of ['before', 'after'] as const) await measure(services[build], row, WARM_UP_MS);
    for (let slice = 0; slice < SLICES; slice++) {
      // Each build goes first in every second slice.
      for (const build of slice % 2 === 0 ? (['before', 'after'] as const) : (['after', 'before'] as const)) {
        const { requests, cpuUs } = await measure(services[build], row, SLICE_MS);
        sums[build].requests += requests;
        sums[build].cpuUs += cpuUs;
      }
    }
    for (const build of ['before', 'after'] as const) {
      costs[build].push(sums[build].cpuUs / sums[build].requests);
    }
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
const samples: Awaited<ReturnType<typeof sample>>[] = [];
for (let round = 0; round < Number(values.rounds); round++) samples.push(await sample(round));

console.log(
  `CPU time of the service for a request, ${values.url}, ${values.rounds} rounds: median (quartiles)`,
);
const spread = (figures: readonly number[], digits: number) => summary(figures, digits, [0.25, 0.75]);
for (const [index, { name }] of rows.entries()) {
  const cost = (build: Build) => samples.map((measured) => measured[build][index] ?? NaN);
  const ratios = samples.map((measured) => (measured.after[index] ?? NaN) / (measured.before[index] ?? NaN));
  const columns = `before ${spread(cost('before'), 1)} us, after ${spread(cost('after'), 1)} us`;
  console.log(`${name.padEnd(24)} ${columns}, after/before ${spread(ratios, 3)}`);
}
