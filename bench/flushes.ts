/**
 * What a disk that is slow to flush does to readers and writers: SQLite, requests a second and latencies, of readers
 * alone, of readers beside writers, and of writers alone.
 *
 *   node bench/flushes.ts [OTHER_CHECKOUT] [--flush-ms 0] [--rounds 3] [--ms 3000] [--only 'beside']
 *
 * The same job runs on Fastify with the same library. OTHER_CHECKOUT is another build, with its packages installed.
 * The files are in the directory TMPDIR. With --flush-ms, every flush takes this time longer; it needs a C compiler.
 *
 * Linux only: it pins the contestants to the first core, and itself to the second.
 */
import { execFileSync } from 'node:child_process';
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { slowFlush } from '../test/support/slow-flush.ts';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import { contestantsOn, type Running, SAME_FEATURES, start } from './harness/contestants.ts';
import { closedLoop, type Load, once, percentile } from './harness/load.ts';
import { FILL, KEY, WORKLOADS } from './harness/workloads.ts';
import { type RunningService, startService } from './support/service.ts';
import { quantile, summary } from './support/statistics.ts';

const { values, positionals } = parseArgs({
  options: {
    'flush-ms': { type: 'string', default: '0' },
    rounds: { type: 'string', default: '3' },
    ms: { type: 'string', default: '3000' },
    only: { type: 'string', default: '' },
  },
  allowPositionals: true,
});
const ms = Number(values.ms);

const JOBS = [
  { name: '16 readers', readers: 16, writers: 0 },
  { name: '16 readers beside 4 writers', readers: 16, writers: 4 },
  { name: '16 readers beside 1 writer', readers: 16, writers: 1 },
  { name: '16 readers beside 32 writers', readers: 16, writers: 32 },
  { name: '1 writer', readers: 0, writers: 1 },
  { name: '4 writers', readers: 0, writers: 4 },
  { name: '32 writers', readers: 0, writers: 32 },
].filter(({ name }) => name.includes(values.only));

type Job = (typeof JOBS)[number];
type Figures = { readonly [Name in 'reads' | 'readP50Ms' | 'readP99Ms' | 'creates' | 'createP50Ms']: number };

const bytesOf = (workload: string) =>
  WORKLOADS.find(({ name }) => name === workload)!
    .requests('cursor')
    .map((text) => Buffer.from(text));
const LIST = bytesOf('list-20');
const CREATE = bytesOf('create');

async function measure(port: number, { readers, writers }: Job, forMs: number): Promise<Figures> {
  const load = async (requests: readonly Buffer[], connections: number): Promise<Load | undefined> =>
    connections === 0
      ? undefined
      : closedLoop({ port, requests, connections, ms: forMs, statuses: [200, 201], sleepless: false });
  const [read, create] = await Promise.all([load(LIST, readers), load(CREATE, writers)]);
  const perSecond = (one: Load | undefined) => (one === undefined ? NaN : one.requests / one.seconds);
  const latency = (one: Load | undefined, q: number) => (one === undefined ? NaN : percentile(one, q));
  return {
    reads: perSecond(read),
    readP50Ms: latency(read, 0.5),
    readP99Ms: latency(read, 0.99),
    creates: perSecond(create),
    createP50Ms: latency(create, 0.5),
  };
}

/** The median time of a flush of 4 KiB that are written again and again, as a log is. */
function flushMs(directory: string): number {
  const descriptor = openSync(join(directory, 'flushed'), 'w');
  const page = Buffer.alloc(4096, 1);
  writeSync(descriptor, page);
  fsyncSync(descriptor);
  const times = Array.from({ length: 50 }, () => {
    writeSync(descriptor, page, 0, page.length, 0);
    const begunMs = performance.now();
    fdatasyncSync(descriptor);
    return performance.now() - begunMs;
  });
  closeSync(descriptor);
  return quantile(times, 0.5);
}

async function jobsOn(port: number): Promise<ReadonlyMap<string, Figures>> {
  await once(
    port,
    FILL.map((text) => Buffer.from(text)),
    [201],
  );
  const figures = new Map<string, Figures>();
  for (const job of JOBS) {
    await measure(port, job, 500);
    figures.set(job.name, await measure(port, job, ms));
  }
  return figures;
}

async function build(checkout: string, url: string): Promise<ReadonlyMap<string, Figures>> {
  const env = { DATABASE_URL: url, API_KEYS: KEY };
  await using service: RunningService = await startService(env, { checkout, core: 0 });
  return await jobsOn(service.port);
}

async function peer(url: string): Promise<ReadonlyMap<string, Figures>> {
  const contestant = contestantsOn('sqlite').find(({ name }) => name === SAME_FEATURES)!;
  const running: Running = await start(contestant, url);
  try {
    return await jobsOn(running.port);
  } finally {
    await running.stop();
  }
}

execFileSync('taskset', ['-pc', '1', String(process.pid)], { stdio: 'ignore' });
await using directory = await temporaryDirectory('bench');
const addedMs = Number(values['flush-ms']);
if (addedMs > 0) Object.assign(process.env, await slowFlush(directory.path, addedMs));
const flush = flushMs(directory.path) + addedMs;
console.log(`1 / flush: ${(1000 / flush).toFixed(0)} a second; a flush takes ${flush.toFixed(2)} ms`);

const ours = resolve(import.meta.dirname, '..');
const builds = new Map([['this build', (url: string) => build(ours, url)]]);
const [other] = positionals;
if (other !== undefined) builds.set('other build', (url) => build(resolve(other), url));
builds.set(SAME_FEATURES, peer);

const rounds: ReadonlyMap<string, ReadonlyMap<string, Figures>>[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  const measured = new Map<string, ReadonlyMap<string, Figures>>();
  const order = round % 2 === 0 ? [...builds] : [...builds].toReversed();
  for (const [name, run] of order) {
    const url = `sqlite:${join(directory.path, `${name.replaceAll(/\W/g, '-')}-${round}.db`)}`;
    measured.set(name, await run(url));
  }
  rounds.push(measured);
}
for (const { name, readers, writers } of JOBS) {
  for (const contestant of builds.keys()) {
    const all = (figure: keyof Figures) =>
      rounds.map((round) => round.get(contestant)?.get(name)?.[figure] ?? NaN);
    const reads = `${summary(all('reads'), 0)} pages a second, p50 ${summary(all('readP50Ms'), 2)} ms, p99 ${summary(all('readP99Ms'), 2)} ms`;
    const creates = `${summary(all('creates'), 0)} creates a second, p50 ${summary(all('createP50Ms'), 2)} ms`;
    const figures = [...(readers > 0 ? [reads] : []), ...(writers > 0 ? [creates] : [])];
    console.log(`${name}, ${contestant}: ${figures.join('; ')}`);
  }
}
