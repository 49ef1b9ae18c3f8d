import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { slowFlushVariables } from '../../test/support/slow-flush.ts';
import { startService } from '../support/service.ts';
import { quantile } from '../support/statistics.ts';
import { type Contestant, start } from './contestants.ts';
import { closedLoop, type Load, once, percentile } from './load.ts';
import { FILL, KEY, WORKLOADS } from './workloads.ts';

export const FLUSH_JOBS = [
  { name: '16 readers', readers: 16, writers: 0 },
  { name: '16 readers beside 4 writers', readers: 16, writers: 4 },
  { name: '16 readers beside 1 writer', readers: 16, writers: 1 },
  { name: '16 readers beside 32 writers', readers: 16, writers: 32 },
  { name: '1 writer', readers: 0, writers: 1 },
  { name: '4 writers', readers: 0, writers: 4 },
  { name: '32 writers', readers: 0, writers: 32 },
] as const;

type Job = (typeof FLUSH_JOBS)[number];
type Figure = 'reads' | 'readP50Ms' | 'readP99Ms' | 'creates' | 'createP50Ms';
type Figures = { readonly [Name in Figure]: number };

/** A program that stores pets in SQLite. */
export type Storing = {
  readonly name: string;
  start(url: string): Promise<{ readonly port: number; stop(): Promise<void> }>;
};

export type FlushResult = {
  readonly names: readonly string[];
  readonly jobs: readonly Job[];
  readonly flushMs: number;
  /** One figure a round. NaN where the job has no readers or no writers. */
  of(name: string, job: string, figure: Figure): readonly number[];
};

/** The service as another checkout has it, with its packages installed. */
export function build(name: string, checkout: string): Storing {
  return {
    name,
    async start(url) {
      const service = await startService({ DATABASE_URL: url, API_KEYS: KEY }, { checkout, core: 0 });
      return { port: service.port, stop: async () => service[Symbol.asyncDispose]() };
    },
  };
}

export function contestant(given: Contestant): Storing {
  return { name: given.name, start: async (url) => start(given, url) };
}

/** Measures the jobs with every flush of the disk longer by `addedMs`. Rounds alternate between the programs. */
export async function measureFlushes(
  programs: readonly Storing[],
  jobs: readonly Job[],
  plan: {
    readonly directory: string;
    readonly addedMs: number;
    readonly rounds: number;
    readonly ms: number;
  },
): Promise<FlushResult> {
  const { directory, addedMs, ms } = plan;
  const flushMs = medianFlushMs(directory) + addedMs;
  const slow = addedMs > 0 ? await slowFlushVariables(directory, addedMs) : {};
  const rounds: ReadonlyMap<string, Figures>[] = [];
  Object.assign(process.env, slow);
  try {
    for (let round = 0; round < plan.rounds; round++) {
      const measured = new Map<string, Figures>();
      for (const { name, start: begin } of round % 2 === 0 ? programs : programs.toReversed()) {
        const running = await begin(
          `sqlite:${join(directory, `${name.replaceAll(/\W/g, '-')}-${round}.db`)}`,
        );
        try {
          const fill = FILL.map((text) => Buffer.from(text));
          await once(running.port, fill, [201]);
          for (const job of jobs) {
            await measure(running.port, job, 500);
            measured.set(`${name}, ${job.name}`, await measure(running.port, job, ms));
          }
        } finally {
          await running.stop();
        }
      }
      rounds.push(measured);
    }
  } finally {
    for (const variable of Object.keys(slow)) delete process.env[variable];
  }
  return {
    names: programs.map(({ name }) => name),
    jobs,
    flushMs,
    of: (name, job, figure) => rounds.map((round) => round.get(`${name}, ${job}`)?.[figure] ?? NaN),
  };
}

const bytesOf = (workload: string) =>
  WORKLOADS.find(({ name }) => name === workload)!
    .requests('cursor')
    .map((text) => Buffer.from(text));
const LIST = bytesOf('list-20');
const CREATE = bytesOf('create');

async function measure(port: number, { readers, writers }: Job, ms: number): Promise<Figures> {
  const load = async (requests: readonly Buffer[], connections: number): Promise<Load | undefined> =>
    connections === 0
      ? undefined
      : closedLoop({ port, requests, connections, ms, statuses: [200, 201], sleepless: false });
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
function medianFlushMs(directory: string): number {
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
