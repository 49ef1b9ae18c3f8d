import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { barChart } from './bar-chart.ts';
import { barRows } from './bars.ts';
import { contestantsOn, OURS } from './contestants.ts';
import type { GrowthResult } from './measure-growth.ts';
import type { StartResult } from './measure-start.ts';
import { figures, median, ratios, spread, type StoreResult } from './samples.ts';

export type Results = {
  readonly stores: readonly StoreResult[];
  readonly starts: readonly StartResult[];
  readonly growth: readonly { readonly store: string; readonly sizes: readonly GrowthResult[] }[];
};

const BENCH = join(import.meta.dirname, '..');
const TITLES: Readonly<Record<string, string>> = { memory: 'Memory', sqlite: 'SQLite', mongodb: 'MongoDB' };
const CHARTED = ['list-20', 'list-20 filter', 'get', 'create'];

/** Writes results.md, which ends with notes.md, and a chart for each storage. */
export async function writeResults(results: Results, about: string): Promise<void> {
  const notes = await readFile(join(BENCH, 'notes.md'), 'utf8');
  const charts = results.stores.map(({ name }) => `![${TITLES[name]}](results-${name}.svg)`);
  const text = `# Beside what people would pick instead

Written by \`npm run bench\`. ${about}

${charts.join('\n')}

${markdown(results)}

${notes.trim()}
`;
  await writeFile(join(BENCH, 'results.md'), text);
  for (const store of results.stores) {
    await writeFile(join(BENCH, `results-${store.name}.svg`), chart(store));
  }
}

export function markdown({ stores, starts, growth }: Results): string {
  return [
    ...(stores.length === 0 ? [] : [barsSection(stores)]),
    ...stores.map(storeSection),
    ...(starts.length === 0 ? [] : [startSection(starts)]),
    ...(growth.length === 0 ? [] : [growthSection(growth)]),
  ].join('\n\n');
}

function chart(store: StoreResult): string {
  const rows = CHARTED.map((workload) => ({
    label: workload,
    bars: contestantsOn(store.name).map(({ name }) => ({
      name,
      value: median(figures(store, name, workload, 'cpuUs')),
    })),
  }));
  return barChart(TITLES[store.name] ?? store.name, rows);
}

function barsSection(stores: readonly StoreResult[]): string {
  return `## What was aimed at

${table(['', 'raw node:http', 'Fastify, same features'], barRows(stores))}`;
}

function storeSection(store: StoreResult): string {
  const workloads = [...new Set(store.samples.map(({ workload }) => workload))];
  const names = contestantsOn(store.name).map(({ name }) => name);
  const peers = names.filter((name) => name !== OURS);
  const cpu = workloads.map((workload) => [
    workload,
    ...names.map((name) => spread(figures(store, name, workload, 'cpuUs'), 1)),
  ]);
  const compared = workloads.map((workload) => [
    workload,
    ...peers.map((peer) => {
      const [theirs, ours] = [peer, OURS].map((name) => figures(store, name, workload, 'cpuUs'));
      return spread(ratios(theirs!, ours!), 2);
    }),
  ]);
  const latency = workloads.map((workload) => [
    workload,
    ...names.map((name) => {
      const of = (figure: 'perSecond' | 'p50Ms' | 'p99Ms' | 'p999Ms') =>
        median(figures(store, name, workload, figure));
      const times = [of('p50Ms'), of('p99Ms'), of('p999Ms')].map((ms) => ms.toFixed(2));
      return [of('perSecond').toFixed(0), ...times].join(' / ');
    }),
  ]);
  const halfOfPeak = workloads.at(-1)!;
  const delays = names.map((name) => spread(figures(store, name, halfOfPeak, 'loopDelayMs'), 2));
  return `## ${TITLES[store.name]}, ${store.connections} connections

CPU time a request, in microseconds:

${table(['workload', ...names], cpu)}

The CPU time of a peer as a multiple of the service's. Above 1, the service costs less:

${table(['workload', ...peers], compared)}

Requests a second / p50 / p99 / p99.9 in milliseconds:

${table(['workload', ...names], latency)}

Delay of the event loop at half of peak, p99 in milliseconds:

${table(['', ...names], [['delay', ...delays]])}`;
}

function startSection(starts: readonly StartResult[]): string {
  const rows = starts.map(({ store, contestant, startMs, residentMib }) => [
    store,
    contestant,
    startMs.toFixed(0),
    residentMib.toFixed(0),
  ]);
  return `## Start and size

Time from the start of the process to its first answer, in milliseconds, and resident memory when idle, in MiB. The
database and the compiled sources of the service exist already: a first start has made them.

${table(['storage', 'contestant', 'first answer', 'memory'], rows)}`;
}

function growthSection(growth: Results['growth']): string {
  const rows = growth.flatMap(({ store, sizes }) =>
    sizes.map(({ pets, openMs, bytesAPet, pageUs, filteredUs }) => [
      store,
      pets.toLocaleString('en'),
      pageUs.toFixed(1),
      filteredUs.toFixed(1),
      (pageUs / sizes[0]!.pageUs).toFixed(2),
      (filteredUs / sizes[0]!.filteredUs).toFixed(2),
      openMs.toFixed(0),
      bytesAPet?.toFixed(0) ?? '',
    ]),
  );
  const columns = ['page', 'filtered page', 'of the smallest', 'filtered', 'open', 'bytes a pet'];
  return `## Growth

The time of a page of 20 pets anywhere in the catalogue, in microseconds, at the adapter's port without HTTP; the same
as a multiple of that among the fewest pets (aim: at most 1.2); the time to open the storage and to read the first page,
in milliseconds; and the bytes that a pet takes in the heap or in the file.

${table(['storage', 'pets', ...columns], rows)}`;
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
