import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { CONTESTANTS } from './contestants.ts';
import { barChart } from './bar-chart.ts';

export type Sample = {
  readonly contestant: string;
  readonly workload: string;
  readonly round: number;
  /** CPU time of the server process a request, in microseconds. */
  readonly cpuUs: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
};

export type StoreResult = {
  readonly name: string;
  readonly connections: number;
  readonly samples: readonly Sample[];
};

type Figure = Exclude<keyof Sample, 'contestant' | 'workload' | 'round'>;

const BENCH = join(import.meta.dirname, '..');
const [OURS = '', ...PEERS] = CONTESTANTS.map(({ name }) => name);

export function printStore(store: StoreResult): void {
  console.log(`\n${markdown(store)}`);
}

export async function writeResults(
  stores: readonly StoreResult[],
  rounds: number,
  versions: string,
): Promise<void> {
  const text = `# Beside what people would pick instead

Written by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${cpus()[0]?.model}).
${versions}

Each contestant is a process on the first core. Load and MongoDB are on the others. ${rounds} rounds, interleaved; what
the contestants answer is compared first. A cell is the median, with the quartiles in parentheses. The ratio says how
many times the CPU time of the service a peer needs: above 1, the service costs less.

${stores.map(markdown).join('\n\n')}
`;
  await writeFile(join(BENCH, 'results.md'), text);
  for (const store of stores) {
    await writeFile(join(BENCH, `results-${store.name}.svg`), barChart(store.name, chartRows(store)));
  }
}

function markdown(store: StoreResult): string {
  const workloads = [...new Set(store.samples.map(({ workload }) => workload))];
  const cost = workloads.map((workload) => {
    const cells = CONTESTANTS.map(({ name }) => spread(figures(store, name, workload, 'cpuUs'), 1));
    const ratios = PEERS.map((peer) => spread(ratiosTo(store, peer, workload), 2));
    return `| ${[workload, ...cells, ...ratios].join(' | ')} |`;
  });
  const latency = workloads.map((workload) => {
    const cells = CONTESTANTS.map(({ name }) =>
      [median(figures(store, name, workload, 'perSecond')).toFixed(0)]
        .concat(
          (['p50Ms', 'p99Ms', 'p999Ms'] as const).map((figure) =>
            median(figures(store, name, workload, figure)).toFixed(2),
          ),
        )
        .join(' / '),
    );
    return `| ${[workload, ...cells].join(' | ')} |`;
  });
  const names = [OURS, ...PEERS];
  return `## ${store.name}, ${store.connections} connections

CPU time a request, in microseconds, and the ratios of the peers to the service:

${table(['workload', ...names, ...PEERS.map((peer) => `${peer} / ${OURS}`)])}
${cost.join('\n')}

Requests a second / p50 / p99 / p99.9, in milliseconds:

${table(['workload', ...names])}
${latency.join('\n')}`;
}

function table(columns: readonly string[]): string {
  return `| ${columns.join(' | ')} |\n|${columns.map(() => '---').join('|')}|`;
}

function chartRows(store: StoreResult) {
  return ['list-20', 'list-20 filter', 'get', 'create'].map((workload) => ({
    label: workload,
    bars: CONTESTANTS.map(({ name }) => ({ name, value: median(figures(store, name, workload, 'cpuUs')) })),
  }));
}

function figures(
  { samples }: StoreResult,
  contestant: string,
  workload: string,
  figure: Figure,
): readonly number[] {
  return samples
    .filter((sample) => sample.contestant === contestant && sample.workload === workload)
    .map((sample) => sample[figure]);
}

function ratiosTo(store: StoreResult, peer: string, workload: string): readonly number[] {
  const ours = figures(store, OURS, workload, 'cpuUs');
  return figures(store, peer, workload, 'cpuUs').map((value, round) => value / ours[round]!);
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function spread(values: readonly number[], digits: number): string {
  const middle = median(values).toFixed(digits);
  if (values.length < 3) return middle;
  return `${middle} (${quantile(values, 0.25).toFixed(digits)} to ${quantile(values, 0.75).toFixed(digits)})`;
}

function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.round((sorted.length - 1) * q)] ?? Number.NaN;
}
