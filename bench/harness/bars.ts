import { OURS, RAW, SAME_FEATURES } from './contestants.ts';
import { type Figure, figures, median, ratios, type StoreResult } from './samples.ts';
import { HALF_OF_PEAK, oneConnection } from './workloads.ts';

/** The ratios of CPU time, peer to service, that the service aims at: at least this. */
const CPU_BARS = [
  { store: 'memory', workload: 'list-20', raw: 0.55, same: 1.7 },
  { store: 'memory', workload: 'list-20 filter', raw: 0.55, same: 1.7 },
  { store: 'memory', workload: 'get', raw: 0.45, same: 1.4 },
  { store: 'memory', workload: 'create', raw: 0.45, same: 1.4 },
  { store: 'sqlite', workload: 'list-20', raw: 0.9, same: 1.9 },
  { store: 'sqlite', workload: 'get', raw: 0.5, same: 1.6 },
  { store: 'sqlite', workload: 'create', raw: 4, same: 5 },
  { store: 'mongodb', workload: 'list-20', raw: 1, same: 1.2 },
  { store: 'mongodb', workload: 'get', raw: 1.3, same: 1.9 },
  { store: 'mongodb', workload: 'create', raw: 2.2, same: 2.8 },
] as const;

/** The ratios of latency, service to peer: at most this. */
const LATENCY_BARS = [
  { store: 'mongodb', workload: oneConnection('get'), figure: 'p50Ms', raw: 1.15, same: 1 },
  { store: 'mongodb', workload: oneConnection('create'), figure: 'p50Ms', raw: 1.15, same: 1 },
  ...['memory', 'sqlite', 'mongodb'].map(
    (store) => ({ store, workload: HALF_OF_PEAK, figure: 'p99Ms', raw: undefined, same: 1 }) as const,
  ),
] as const;

/** What was measured beside what was aimed at, as rows of a table. */
export function barRows(stores: readonly StoreResult[]): readonly string[][] {
  return stores.flatMap((store) => {
    const measured = ({ store: name, workload }: { readonly store: string; readonly workload: string }) =>
      name === store.name && store.samples.some((sample) => sample.workload === workload);
    const ratio = (a: string, b: string, workload: string, figure: Figure) =>
      median(ratios(figures(store, a, workload, figure), figures(store, b, workload, figure)));
    const cpu = CPU_BARS.filter(measured).map(({ workload, raw, same }) => [
      `${store.name}, ${workload}: CPU time of the peer / of the service`,
      verdict(ratio(RAW, OURS, workload, 'cpuUs'), raw, 'least'),
      verdict(ratio(SAME_FEATURES, OURS, workload, 'cpuUs'), same, 'least'),
    ]);
    const latency = LATENCY_BARS.filter(measured).map(({ workload, figure, raw, same }) => [
      `${store.name}, ${workload}: ${figure.replace('Ms', '')} of the service / of the peer`,
      raw === undefined ? '' : verdict(ratio(OURS, RAW, workload, figure), raw, 'most'),
      verdict(ratio(OURS, SAME_FEATURES, workload, figure), same, 'most'),
    ]);
    return [...cpu, ...latency];
  });
}

function verdict(ratio: number, bar: number, kind: 'least' | 'most'): string {
  const measured = ratio.toFixed(2);
  const reached = kind === 'least' ? Number(measured) >= bar : Number(measured) <= bar;
  return `${measured} (at ${kind} ${bar}${reached ? '' : ': **missed**'})`;
}
