import { compareAnswers } from './compare-answers.ts';
import { contestantsOn, databaseUrl, OURS, type Running, SAME_FEATURES, start } from './contestants.ts';
import { closedLoop, fixedRate, type Load, once, percentile } from './load.ts';
import type { Sample, StoreResult } from './samples.ts';
import { FILL, HALF_OF_PEAK, MIXED, oneConnection, type Workload, WORKLOADS } from './workloads.ts';

export type Plan = {
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  readonly latencyMs: number;
};

type Store = { readonly name: string; readonly connections: number; readonly url: string };

const HALF_OF_PEAK_CONNECTIONS = 64;

/** Measures all contestants on a storage. The rounds are interleaved, and each begins with another contestant. */
export async function measureStore(
  { name, connections, url }: Store,
  workloads: readonly Workload[],
  plan: Plan,
): Promise<StoreResult> {
  const contestants = contestantsOn(name);
  const samples: Sample[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const running: Running[] = [];
    try {
      for (let i = 0; i < contestants.length; i++) {
        const contestant = contestants[(i + round) % contestants.length]!;
        running.push(await start(contestant, databaseUrl(url, contestant, round)));
      }
      const fill = FILL.map((text) => Buffer.from(text));
      // In the same order for each contestant: the n-th pet is the same everywhere.
      await Promise.all(running.map(({ port }) => once(port, fill, [201])));
      if (round === 0) await compareAnswers(running, WORKLOADS);
      // The compiler works for some seconds.
      for (const one of running) {
        await measure(name, one, workloads[0]!, connections, round, {
          ...plan,
          measureMs: 2 * plan.warmUpMs,
        });
      }
      for (const workload of workloads) {
        for (const one of running) samples.push(await measure(name, one, workload, connections, round, plan));
      }
      for (const workload of workloads.filter(({ alone }) => alone && name === 'mongodb')) {
        for (const one of running) samples.push(await measure(name, one, workload, 1, round, plan));
      }
      const perSecond = halfOfPeak(samples, round);
      const mixed = workloads.find((workload) => workload.name === MIXED)!;
      for (const one of running) samples.push(await measureLatency(one, mixed, perSecond, round, plan));
    } finally {
      for (const one of running) await one.stop();
    }
  }
  return { name, connections, samples };
}

async function measure(
  store: string,
  { port, contestant, cpuUs }: Running,
  workload: Workload,
  connections: number,
  round: number,
  { warmUpMs, measureMs }: Plan,
): Promise<Sample> {
  const requests = workload.requests(contestant.paging).map((text) => Buffer.from(text));
  // MongoDB shares the core of the load.
  const sleepless = store !== 'mongodb';
  const options = { port, requests, connections, statuses: workload.statuses, sleepless };
  await closedLoop({ ...options, ms: warmUpMs });
  const before = cpuUs();
  const load = await closedLoop({ ...options, ms: measureMs });
  const what = connections === 1 ? oneConnection(workload.name) : workload.name;
  return sampleOf(contestant.name, what, round, cpuUs() - before, load);
}

/** Half of the requests per second of the slower of the two that have the same features: one rate for all. */
function halfOfPeak(samples: readonly Sample[], round: number): number {
  const peaks = samples.filter(
    (sample) =>
      sample.round === round &&
      sample.workload === MIXED &&
      [OURS, SAME_FEATURES].includes(sample.contestant),
  );
  return Math.min(...peaks.map(({ perSecond }) => perSecond)) / 2;
}

async function measureLatency(
  { port, contestant, cpuUs }: Running,
  workload: Workload,
  perSecond: number,
  round: number,
  { warmUpMs, latencyMs }: Plan,
): Promise<Sample> {
  const requests = workload.requests(contestant.paging).map((text) => Buffer.from(text));
  const options = {
    port,
    requests,
    connections: HALF_OF_PEAK_CONNECTIONS,
    statuses: workload.statuses,
    perSecond,
  };
  await fixedRate({ ...options, ms: warmUpMs });
  const before = cpuUs();
  const load = await fixedRate({ ...options, ms: latencyMs });
  return sampleOf(contestant.name, HALF_OF_PEAK, round, cpuUs() - before, load);
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
  };
}
