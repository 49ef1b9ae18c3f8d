/**
 * How far one replica set goes: creates per second, latency and CPU time of a create, against the number of members and of
 * services that add pets without a pause. Each service is a process with the MongoDB adapter alone.
 *
 *   node bench/services.ts [SECONDS] [OTHER_TREE...]
 *
 * Each load takes 5 seconds by default, after a warm-up of the same time. With other checkouts of this project, whose
 * dependencies are installed, all take turns. Needs a mongod, as the tests do.
 *
 * Two figures say whether a service or a caller starves. The least share is that of the service with the fewest creates:
 * four services that share fairly have 0.25 each. The worst wait is the longest wait of any caller, and the median of the
 * longest wait of each caller.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { ReplicaSet } from '../proof/failure/replica-set.ts';
import type { ServiceStorage } from '../src/application/ports/storage-kind.ts';
import { startMongodb } from './harness/mongodb.ts';
import { quantile } from './support/statistics.ts';
import { aPet } from '../test/support/pets.ts';

const LOADS = ['1 x 1', '1 x 32', '1 x 128', '2 x 8', '4 x 8', '4 x 32', '8 x 4'];

type Figures = {
  /** Of each create, by caller. */
  readonly latenciesMs: readonly (readonly number[])[];
  readonly cpuUs: number;
};

const [, , seconds = '5', ...others] = process.argv;
const trees = [`${import.meta.dirname}/..`, ...others];

if (process.send === undefined) await measure();
else await serve();

async function measure(): Promise<void> {
  const single = await startMongodb();
  if (single === undefined) return;
  await using set = await ReplicaSet.start();
  try {
    const urls = { 1: (name: string) => `${single.url}${name}?replicaSet=bench`, 3: set.url.bind(set) };
    console.log(
      'members, services x callers: creates per second; p50 / p99 in ms; CPU time of a create in us; ' +
        'least share of a service; worst wait of all callers / median of their worst waits in ms',
    );
    for (const [members, url] of Object.entries(urls)) {
      for (const [number, services] of LOADS.entries()) {
        for (const [index, tree] of trees.entries()) {
          const figures = await load(tree, url(`bench-${number}-${index}`), services);
          console.log(`${index === 0 ? 'this tree' : tree}: ${members}, ${services}: ${figures}`);
        }
      }
    }
  } finally {
    await single.stop();
  }
}

async function load(tree: string, url: string, services: string): Promise<string> {
  const [processes = 1, callers] = services.split(' x ').map(Number);
  const { migrate } = await import(`${tree}/src/adapters/mongodb/migrate.ts`);
  await migrate(url);
  const args = [tree, url, String(callers), seconds];
  const children = Array.from({ length: processes }, () => fork(import.meta.filename, args));
  await Promise.all(children.map((child) => once(child, 'message')));
  for (const child of children) child.send('go');
  const all = await Promise.all(children.map(figuresOf));
  const byService = all.map(({ latenciesMs }) => latenciesMs.flat());
  const latencies = byService.flat();
  const cpuUs = all.reduce((sum, figures) => sum + figures.cpuUs, 0) / latencies.length;
  const [p50, p99] = [0.5, 0.99].map((q) => quantile(latencies, q).toFixed(1));
  const leastShare = Math.min(...byService.map(({ length }) => length)) / latencies.length;
  const worstMs = all.flatMap(({ latenciesMs }) => latenciesMs.map((waits) => quantile(waits, 1)));
  const [median, most] = [0.5, 1].map((q) => quantile(worstMs, q).toFixed(0));
  const perSecond = Math.round(latencies.length / Number(seconds));
  return `${perSecond}; ${p50} / ${p99}; ${cpuUs.toFixed(0)}; ${leastShare.toFixed(2)}; ${most} / ${median}`;
}

async function figuresOf(child: ChildProcess): Promise<Figures> {
  const [figures]: unknown[] = await once(child, 'message');
  return figures as Figures;
}

/** One of the services. */
async function serve(): Promise<void> {
  const [, , tree, url, callers, limit] = process.argv;
  const { openMongoStorage } = await import(`${tree}/src/adapters/mongodb/open.ts`);
  const { pets, close }: Required<ServiceStorage> = await openMongoStorage(url, { autoMigrate: false });
  process.send?.('ready');
  await once(process, 'message');
  const run = async () => {
    const endMs = performance.now() + Number(limit) * 1_000;
    const caller = async () => {
      const latenciesMs: number[] = [];
      for (let at = performance.now(); at < endMs; at = performance.now()) {
        await pets.insert(aPet());
        latenciesMs.push(performance.now() - at);
      }
      return latenciesMs;
    };
    return Promise.all(Array.from({ length: Number(callers) }, caller));
  };
  // A new process spends much of its first seconds on compilation.
  await run();
  const before = process.cpuUsage();
  const latenciesMs = await run();
  const { user, system } = process.cpuUsage(before);
  await close();
  const figures: Figures = { latenciesMs, cpuUs: user + system };
  process.send?.(figures, () => process.disconnect?.());
}
