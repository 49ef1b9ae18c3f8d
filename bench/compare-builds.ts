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
import { cpuUsOf } from './support/cpu-time.ts';
import { dial, getRequest, onAnswer, postRequest } from './support/http.ts';
import { ROOT, type RunningService, startService } from './support/service.ts';
import { summary } from './support/statistics.ts';

const KEY = 'a-key-for-measuring-builds';
const CONNECTIONS = 16;
const WARM_UP_MS = 1_500;
const ROUND_MS = 1_500;
const PETS = 1_000;

const CREATE = postRequest('{"name":"Rex","categoryId":7}', KEY);
const WORKLOADS: Readonly<Record<string, string>> = {
  'list-20': getRequest('/v1/pets', KEY),
  'list-20 filter': getRequest('/v1/pets?status=available', KEY),
  get: getRequest('/v1/pets/500', KEY),
  create: CREATE,
};

function databaseUrl(url: string, name: string, directory: string): string {
  if (url === 'sqlite:') return `sqlite:${join(directory, `${name}.db`)}`;
  return url.startsWith('mongodb') ? `${url}bench_${name}_${process.pid}` : url;
}

/** Repeats the request on all connections. Resolves with the number of answers. */
async function load(port: number, request: string, until: (done: number) => boolean): Promise<number> {
  let done = 0;
  const expected = request.startsWith('POST') ? 'HTTP/1.1 201 ' : 'HTTP/1.1 200 ';
  const client = async () => {
    const socket = dial(port);
    const finished = Promise.withResolvers<void>();
    socket.on('error', finished.reject);
    onAnswer(socket, (answer) => {
      if (!answer.startsWith(expected)) finished.reject(new Error(answer));
      done++;
      if (until(done)) finished.resolve();
      else socket.write(request);
    });
    socket.write(request);
    await finished.promise;
    socket.destroy();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  return done;
}

/** Microseconds of CPU time for one request. */
async function measure({ port, pid }: RunningService, request: string, ms: number): Promise<number> {
  const before = cpuUsOf(pid);
  const end = performance.now() + ms;
  const done = await load(port, request, () => performance.now() >= end);
  return (cpuUsOf(pid) - before) / done;
}

/** The cost of each workload in a new process. */
async function sample(
  checkout: string,
  DATABASE_URL: string,
  more: Readonly<Record<string, string>>,
): Promise<number[]> {
  const env = { DATABASE_URL, AUTO_MIGRATE: 'true', API_KEYS: KEY, ...more };
  await using service = await startService(env, { checkout, core: 0 });
  await load(service.port, CREATE, (done) => done >= PETS);
  const costs: number[] = [];
  for (const [, request] of workloads) {
    await measure(service, request, WARM_UP_MS);
    costs.push(await measure(service, request, ROUND_MS));
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
const workloads = Object.entries(WORKLOADS).filter(([name]) => name.includes(values.only));
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
for (const [index, [name]] of workloads.entries()) {
  const cost = (build: 'before' | 'after') => samples.map((measured) => measured[build][index] ?? NaN);
  const ratios = samples.map((measured) => (measured.after[index] ?? NaN) / (measured.before[index] ?? NaN));
  const columns = `before ${spread(cost('before'), 1)} us, after ${spread(cost('after'), 1)} us`;
  console.log(`${name.padEnd(15)} ${columns}, after/before ${spread(ratios, 3)}`);
}
