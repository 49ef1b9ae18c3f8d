/**
 * The service beside what people would pick instead: CPU time a request, requests a second and latencies, on every
 * storage. Each contestant is a process on the first core; the load comes from the second. Rounds are interleaved.
 *
 *   npm run bench [-- --quick] [--only memory|sqlite|mongodb] [--rounds 5]
 *
 * Linux only, because it reads /proc and pins processes. MongoDB is left out, with a line, where there is no mongod.
 * Writes bench/results.md and its charts, but not with --quick.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compareAnswers } from './harness/compare-answers.ts';
import { CONTESTANTS, NODE, type Running, SAME_WORK, start } from './harness/contestants.ts';
import { closedLoop, fixedRate, type Load, once, percentile } from './harness/load.ts';
import { startMongodb } from './harness/mongodb.ts';
import bench from './package.json' with { type: 'json' };
import { type Sample, type StoreResult, writeResults, printStore } from './harness/report.ts';
import { FILL, type Workload, WORKLOADS } from './harness/workloads.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
  },
});

const QUICK = ['list-20', 'get', 'create'];
const PLAN = values.quick
  ? { rounds: 1, warmUpMs: 400, measureMs: 500, latencyMs: 1_000 }
  : { rounds: Number(values.rounds), warmUpMs: 700, measureMs: 1_200, latencyMs: 5_000 };

/** MongoDB's round trips want more requests in flight than a store in the process does. */
const STORES = [
  { name: 'memory', connections: 16 },
  { name: 'sqlite', connections: 16 },
  { name: 'mongodb', connections: 32 },
] as const;

execFileSync('taskset', ['-pc', '1', String(process.pid)], { stdio: 'ignore' });
const directory = await mkdtemp(join(tmpdir(), 'petstore-bench-'));
const mongodb = 'mongodb'.includes(values.only) ? await startMongodb() : undefined;
const results: StoreResult[] = [];
try {
  for (const store of STORES.filter(({ name }) => name.includes(values.only))) {
    if (store.name === 'mongodb' && mongodb === undefined)
      console.log('LEFT OUT: MongoDB, because no mongod was found');
    else results.push(await runStore(store));
  }
} finally {
  await mongodb?.stop();
  await rm(directory, { recursive: true });
}
if (!values.quick && values.only === '') await writeResults(results, PLAN.rounds, versions());

async function runStore({ name, connections }: (typeof STORES)[number]): Promise<StoreResult> {
  const workloads = WORKLOADS.filter((workload) => !values.quick || QUICK.includes(workload.name));
  const samples: Sample[] = [];
  for (let round = 0; round < PLAN.rounds; round++) {
    const running: Running[] = [];
    try {
      // Turn by turn each contestant is the first.
      for (let i = 0; i < CONTESTANTS.length; i++) {
        const contestant = CONTESTANTS[(i + round) % CONTESTANTS.length]!;
        running.push(await start(contestant, urlOf(name, contestant.program, round)));
      }
      const fill = FILL.map((text) => Buffer.from(text));
      // One after the other: the n-th pet is the same everywhere.
      for (const { port } of running) await once(port, fill, [201]);
      if (round === 0) await compareAnswers(running, workloads);
      for (const workload of workloads) {
        for (const one of running) samples.push(await measure(one, workload, connections, round));
      }
      for (const workload of workloads.filter(({ alone }) => alone && name === 'mongodb')) {
        for (const one of running) samples.push(await measure(one, workload, 1, round));
      }
      const mixed = workloads.at(-1)!;
      for (const one of running) samples.push(await atHalfOfPeak(one, mixed, samples, round));
    } finally {
      for (const one of running) await one.stop();
    }
  }
  const result = { name, connections, samples };
  printStore(result);
  return result;
}

function urlOf(store: string, program: string, round: number): string {
  const name = program.replaceAll(/\W+/g, '_');
  if (store === 'memory') return 'memory:';
  if (store === 'sqlite') return `sqlite:${join(directory, `${name}_${round}.db`)}`;
  return `${mongodb?.url}${name}_${round}`;
}

async function measure(
  { port, contestant, cpuUs }: Running,
  workload: Workload,
  connections: number,
  round: number,
): Promise<Sample> {
  const requests = workload.requests(contestant.paging).map((text) => Buffer.from(text));
  const options = { port, requests, connections, statuses: workload.statuses };
  await closedLoop({ ...options, ms: PLAN.warmUpMs });
  const before = cpuUs();
  const load = await closedLoop({ ...options, ms: PLAN.measureMs });
  const what = connections === 1 ? `${workload.name}, one connection` : workload.name;
  return sampleOf(contestant.name, what, round, cpuUs() - before, load);
}

/** At half of what the slower of the two that do the same work has answered: the same rate for all. */
async function atHalfOfPeak(
  { port, contestant, cpuUs }: Running,
  workload: Workload,
  samples: readonly Sample[],
  round: number,
): Promise<Sample> {
  const peaks = samples.filter(
    (sample) =>
      sample.round === round && sample.workload === workload.name && SAME_WORK.includes(sample.contestant),
  );
  const perSecond = Math.min(...peaks.map((sample) => sample.perSecond)) / 2;
  const requests = workload.requests(contestant.paging).map((text) => Buffer.from(text));
  const before = cpuUs();
  const load = await fixedRate({
    port,
    requests,
    connections: 64,
    statuses: workload.statuses,
    ms: PLAN.latencyMs,
    perSecond,
  });
  return sampleOf(contestant.name, `${workload.name} at half of peak`, round, cpuUs() - before, load);
}

function sampleOf(contestant: string, workload: string, round: number, cpuUs: number, load: Load): Sample {
  return {
    contestant,
    workload,
    round,
    cpuUs: cpuUs / load.requests,
    perSecond: load.requests / load.seconds,
    p50Ms: percentile(load, 0.5),
    p99Ms: percentile(load, 0.99),
    p999Ms: percentile(load, 0.999),
  };
}

function versions(): string {
  const peers = Object.entries(bench.dependencies).map(([name, version]) => `${name} ${version}`);
  const node = execFileSync(NODE, ['--version'], { encoding: 'utf8' }).trim();
  const server = mongodb === undefined ? '' : ` mongod ${mongodb.version}.`;
  return `Node ${node}, ${peers.join(', ')}.${server}`;
}
