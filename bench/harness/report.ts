import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { barChart } from './bar-chart.ts';
import { barRows } from './bars.ts';
import { contestantsOn, OURS } from './contestants.ts';
import type { FlushResult } from './measure-flushes.ts';
import type { GrowthResult } from './measure-growth.ts';
import type { StartResult } from './measure-start.ts';
import { type Figure, figures, median, ratios, spread, type StoreResult } from './samples.ts';

export type Results = {
  readonly stores: readonly StoreResult[];
  readonly slowDisk?: FlushResult | undefined;
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

The column of a peer is its CPU time per request as a multiple of the service's: above 1, the service costs less.

${charts.join('\n')}

${markdown(results)}

${notes.trim()}
`;
  await writeFile(join(BENCH, 'results.md'), text);
  for (const store of results.stores) {
    await writeFile(join(BENCH, `results-${store.name}.svg`), chart(store));
  }
}

export function markdown({ stores, slowDisk, starts, growth }: Results): string {
  return [
    ...(stores.length === 0 ? [] : [barsSection(stores)]),
    ...stores.map(storeSection),
    ...(slowDisk === undefined ? [] : [slowDiskSection(slowDisk)]),
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
  const peers = contestantsOn(store.name).flatMap(({ name }) => (name === OURS ? [] : [name]));
  const rows = workloads.map((workload) => {
    const of = (name: string, figure: Figure) => figures(store, name, workload, figure);
    const [perSecond, p50, p99] = [of(OURS, 'perSecond'), of(OURS, 'p50Ms'), of(OURS, 'p99Ms')].map(median);
    return [
      workload,
      spread(of(OURS, 'cpuUs'), 1),
      `${perSecond?.toFixed(0)} / ${p50?.toFixed(2)} / ${p99?.toFixed(2)}`,
      ...peers.map((peer) => spread(ratios(of(peer, 'cpuUs'), of(OURS, 'cpuUs')), 2)),
    ];
  });
  return `## ${TITLES[store.name]}, ${store.connections} connections

${table(['workload', 'CPU us', 'requests/s / p50 / p99 ms', ...peers], rows)}`;
}

function slowDiskSection({ names, jobs, flushMs, of }: FlushResult): string {
  const rows = jobs.map(({ name: job, readers }) => [
    job,
    ...names.map((name) => {
      const creates = median(of(name, job, 'creates')).toFixed(0);
      if (readers === 0) return creates;
      const pages = median(of(name, job, 'reads')).toFixed(0);
      return `${creates}; ${pages} pages, p99 ${median(of(name, job, 'readP99Ms')).toFixed(1)} ms`;
    }),
  ]);
  return `## SQLite on a slow disk

Creates a second, and what readers get beside them. A flush takes ${flushMs.toFixed(2)} ms, so a client alone that waits
for each of its creates gets at most 1 / flush = ${(1_000 / flushMs).toFixed(0)} a second.

${table(['', ...names], rows)}`;
}

function startSection(starts: readonly StartResult[]): string {
  const names = [...new Set(starts.map(({ contestant }) => contestant))];
  const stores = [...new Set(starts.map(({ store }) => store))];
  const rows = stores.map((store) => [
    store,
    ...names.map((name) => {
      const one = starts.find((start) => start.store === store && start.contestant === name);
      return one === undefined ? '' : `${one.startMs.toFixed(0)} / ${one.residentMib.toFixed(0)}`;
    }),
  ]);
  return `## Start and size

From the start of the process to its first answer in milliseconds / resident memory when idle in MiB. The database and
the compiled sources of the service exist already: a first start has made them.

${table(['storage', ...names], rows)}`;
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
  const columns = ['page', 'filtered page', 'of the smallest', 'filtered', 'open', 'bytes per pet'];
  return `## Growth

The time of a page of 20 pets anywhere in the catalogue, in microseconds, at the adapter's port without HTTP; the same
as a multiple of that among the fewest pets (aim: at most 1.2); the time to open the storage and to read the first page,
in milliseconds; and the bytes that a pet takes in the heap or in the file.

${table(['storage', 'pets', ...columns], rows)}`;
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
