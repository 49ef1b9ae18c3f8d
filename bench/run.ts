/**
 * The service beside what people would pick instead, on every storage: CPU time per request, requests per second,
 * latencies, start, size and growth. Each contestant is a process on the first core, and the load comes from the
 * second.
 *
 *   npm run bench [-- --quick] [--only memory|sqlite|mongodb|start|growth] [--rounds 5]
 *
 * Without options it writes bench/results.md and its charts, which takes about 40 minutes. With --quick or --only it
 * prints only; --quick takes a minute or two. Without a mongod, MongoDB is left out.
 *
 * Linux only: it reads /proc and pins processes to cores.
 */
import { execFileSync } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import { contestantsOn, OURS, RAW, SAME_FEATURES } from './harness/contestants.ts';
import { contestant, FLUSH_JOBS, type FlushResult, measureFlushes } from './harness/measure-flushes.ts';
import { measureGrowth } from './harness/measure-growth.ts';
import { measureStart, type StartResult } from './harness/measure-start.ts';
import { measureStore } from './harness/measure-store.ts';
import { startMongodb } from './harness/mongodb.ts';
import { markdown, type Results, writeResults } from './harness/report.ts';
import type { StoreResult } from './harness/samples.ts';
import { MIXED, WORKLOADS } from './harness/workloads.ts';
import bench from './package.json' with { type: 'json' };

if (process.platform !== 'linux') exitWithout('Linux: it reads /proc and pins processes to cores');
if (availableParallelism() < 2) exitWithout('two cores: one for the contestants, one for the load');

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
  },
});
const { quick, only } = values;
if (!['', 'memory', 'sqlite', 'mongodb', 'start', 'growth'].includes(only)) {
  exitWithout('one of memory, sqlite, mongodb, start and growth after --only');
}

const PLAN = quick
  ? { rounds: 1, warmUpMs: 200, measureMs: 300, latencyMs: 600 }
  : { rounds: Number(values.rounds), warmUpMs: 800, measureMs: 800, latencyMs: 4_000 };
const QUICK = ['list-20', 'get', 'create', MIXED];
const workloads = WORKLOADS.filter(({ name }) => !quick || QUICK.includes(name));

/** As flushes take on an ordinary volume of a cloud. */
const ADDED_FLUSH_MS = 2;
const SLOW_DISK_PROGRAMS = [OURS, RAW, SAME_FEATURES];
const SLOW_DISK_JOBS = ['16 readers beside 4 writers', '1 writer', '32 writers'];

const THOUSAND = 1_000;
const MILLION = 1_000_000;
const MIN_FREE_BYTES = 2 * 2 ** 30;

execFileSync('taskset', ['-pc', '1', String(process.pid)], { stdio: 'ignore' });
await using directory = await temporaryDirectory('bench');
const mongodb = ['memory', 'sqlite'].includes(only) ? undefined : await startMongodb();

/** MongoDB's round trips want more requests in flight than a store in the process does. */
const STORES = [
  { name: 'memory', connections: 16, url: 'memory:' },
  { name: 'sqlite', connections: 16, url: `sqlite:${directory.path}/` },
  ...(mongodb === undefined ? [] : [{ name: 'mongodb', connections: 32, url: mongodb.url }]),
];

try {
  const results = await run();
  if (!quick && only === '') await writeResults(results, about());
} finally {
  await mongodb?.stop();
}

async function run(): Promise<Results> {
  const stores: StoreResult[] = [];
  for (const store of STORES.filter(({ name }) => isWanted(name))) {
    const result = await measureStore(store, workloads, PLAN);
    console.log(`\n${markdown({ stores: [result], starts: [], growth: [] })}`);
    stores.push(result);
  }
  const slowDisk = quick || !isWanted('sqlite') ? undefined : await measureSlowDisk();
  const starts: StartResult[] = [];
  for (const store of isWanted('start') ? STORES.slice(0, quick ? 1 : undefined) : []) {
    starts.push(...(await measureStart(store, PLAN.rounds)));
  }
  const growth: Results['growth'][number][] = [];
  for (const { name, url } of isWanted('growth') ? STORES : []) {
    growth.push({ store: name, sizes: measureGrowth(url, await sizesOf(name)) });
  }
  console.log(`\n${markdown({ stores: [], slowDisk, starts, growth })}`);
  return { stores, slowDisk, starts, growth };
}

async function measureSlowDisk(): Promise<FlushResult | undefined> {
  try {
    return await measureFlushes(
      contestantsOn('sqlite')
        .filter(({ name }) => SLOW_DISK_PROGRAMS.includes(name))
        .map(contestant),
      FLUSH_JOBS.filter(({ name }) => SLOW_DISK_JOBS.includes(name)),
      { directory: directory.path, addedMs: ADDED_FLUSH_MS, rounds: PLAN.rounds, ms: 2_000 },
    );
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    console.log('LEFT OUT: SQLite on a slow disk, because there is no C compiler');
    return undefined;
  }
}

function isWanted(part: string): boolean {
  return only === '' || only === part;
}

async function sizesOf(store: string): Promise<readonly number[]> {
  if (quick) return [THOUSAND, 20 * THOUSAND];
  // Ten million would take a quarter of an hour to write.
  if (store === 'mongodb') return [THOUSAND, 100 * THOUSAND, MILLION];
  if (store === 'sqlite') {
    const { bavail, bsize } = await statfs(directory.path);
    if (bavail * bsize < MIN_FREE_BYTES) {
      console.log('LEFT OUT: ten million pets in SQLite, because the disk has less than 2 GiB free');
      return [THOUSAND, 100 * THOUSAND];
    }
  }
  return [THOUSAND, 100 * THOUSAND, 10 * MILLION];
}

function about(): string {
  const peers = Object.entries(bench.dependencies).map(([name, version]) => `${name} ${version}`);
  const server = mongodb === undefined ? '' : `, mongod ${mongodb.version}`;
  return `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${peers.join(', ')}${server};
${cpus().length} cores (${cpus()[0]?.model.trim()}); ${PLAN.rounds} rounds.`;
}

function exitWithout(need: string): never {
  console.error(`bench: needs ${need}`);
  process.exit(1);
}
