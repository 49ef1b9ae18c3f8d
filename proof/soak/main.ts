import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../failure/free-port.ts';
import { loadAverage, machine } from '../failure/machine.ts';
import { ReplicaSet } from '../failure/replica-set.ts';
import { API_KEY, ServiceProcess } from '../failure/service-process.ts';
import { scrape } from '../../test/support/metrics.ts';
import { ROOT } from '../../test/support/process.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { MixedLoad } from './mixed-load.ts';
import { page } from './page.ts';
import { judgeSeries, type Sample, type SeriesName } from './series.ts';
import { SoakKeys } from './soak-keys.ts';

const USAGE = `The soak: sends a mixed load for a long time, and reports whether memory, files or latencies grow.

  npm run soak                     20 minutes on SQLite; writes proof/soak/results.md
  npm run soak -- --minutes 3
              --store mongodb      on mongodb or memory instead of sqlite; writes no page
              --leak               with a memory leak in the service, which the soak must find; writes no page
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '20' },
    store: { type: 'string', default: 'sqlite' },
    leak: { type: 'boolean', default: false },
  },
});

/** Returns the option of Node that runs this program inside the service. */
const importOption = (program: string) => `--import data:text/javascript,${encodeURIComponent(program)}`;

/**
 * The time between two forced garbage collections. The collections remove garbage, so that the samples show the memory
 * that the service really uses. The time between two samples is no multiple of this time. If it were, each sample would
 * come a little later after a collection than the sample before, which would look like growth.
 */
const COLLECT_MS = 3_091;
const COLLECT = `--expose-gc ${importOption(`setInterval(gc, ${COLLECT_MS}).unref()`)}`;

/** A leak of 20 KiB per 100 ms. */
const LEAK = importOption(
  'const kept = []; setInterval(() => kept.push(Array.from({ length: 500 }, (_, i) => `${kept.length} ${i}`)), 100).unref()',
);

const CLIENTS = 6;
const SAMPLES = 240;

type Store = AsyncDisposable & { readonly url: string; readonly file?: string };

async function openStore(): Promise<Store> {
  if (values.store === 'mongodb') {
    const set = await ReplicaSet.start();
    const url = set.url('soak');
    return { url, [Symbol.asyncDispose]: () => set[Symbol.asyncDispose]() };
  }
  const directory = await temporaryDirectory('soak');
  const file = join(directory.path, 'petstore.db');
  const fileStore = { url: `sqlite:${file}`, file };
  return {
    ...(values.store === 'memory' ? { url: 'memory:' } : fileStore),
    [Symbol.asyncDispose]: directory.remove,
  };
}

async function main(): Promise<void> {
  const minutes = Number(values.minutes);
  const loadBefore = loadAverage();
  await using store = await openStore();
  const metricsPort = await freePort();
  await using service = await ServiceProcess.start({
    DATABASE_URL: store.url,
    AUTO_MIGRATE: 'true',
    METRICS_PORT: String(metricsPort),
    NODE_OPTIONS: values.leak ? `${COLLECT} ${LEAK}` : COLLECT,
  });
  const keys = values.store === 'memory' ? undefined : new SoakKeys(store.url, API_KEY);
  const clients = new MixedLoad(service.url, CLIENTS, () => keys?.tokens ?? [API_KEY]);
  const samples = await sample(
    minutes * 60_000,
    `http://127.0.0.1:${metricsPort}/metrics`,
    clients,
    store.file,
  );
  await clients.stop();
  await keys?.stop();
  const { requests, pets, wrong } = clients;
  const where =
    values.store === 'memory' ? 'in memory' : store.file === undefined ? 'elsewhere' : 'in a file';
  const rows = judgeSeries(samples, where);
  const loads = `load average ${loadBefore} at the beginning, ${loadAverage()} at the end`;
  const facts = {
    store: values.store,
    machine: [...(await machine()), loads],
    minutes,
    requests,
    pets,
    keys:
      keys === undefined
        ? 'no API keys were made: they are not stored'
        : `${keys.made} API keys made, ${keys.revoked} revoked`,
    wrong: wrong.length,
  };
  const text = page(facts, rows);
  console.log(text);
  for (const line of [...new Set(wrong)].slice(0, 20)) console.log(`WRONG: ${line}`);
  if (service.errors !== '') console.log(`THE SERVICE LOGGED: ${service.errors.slice(0, 2_000)}`);
  if (values.store === 'sqlite' && !values.leak) await writeFile(join(ROOT, 'proof/soak/results.md'), text);
  const grew = rows.filter(({ holds }) => !holds).map(({ name }) => name);
  console.log(grew.length === 0 ? 'nothing grew' : `GREW: ${grew.join(', ')}`);
  if (grew.length > 0 || wrong.length > 0 || service.errors !== '') process.exitCode = 1;
}

/** Takes samples of the service for `lengthMs`. */
async function sample(
  lengthMs: number,
  metricsUrl: string,
  clients: MixedLoad,
  file: string | undefined,
): Promise<readonly Sample[]> {
  const startedMs = performance.now();
  const samples: Sample[] = [];
  while (performance.now() - startedMs < lengthMs) {
    await sleep(Math.max(1_000, lengthMs / SAMPLES));
    const latenciesMs = clients.takeLatencies();
    samples.push({
      atMs: performance.now() - startedMs,
      ...(await metricsOf(metricsUrl)),
      walBytes: await sizeOf(file, '-wal'),
      databaseBytes: await sizeOf(file, ''),
      p99Ms: latenciesMs[Math.floor(latenciesMs.length * 0.99)] ?? 0,
      pets: clients.pets,
    });
    if (samples.length % 12 === 0) console.log(JSON.stringify(samples.at(-1)));
  }
  return samples;
}

const METRICS = {
  heapBytes: 'nodejs_heap_size_used_bytes',
  rssBytes: 'process_resident_memory_bytes',
  externalBytes: 'nodejs_external_memory_bytes',
  descriptors: 'process_open_fds',
  resources: 'nodejs_active_resources_total',
  loopDelayMs: 'nodejs_eventloop_lag_p99_seconds',
} as const satisfies Partial<Record<SeriesName, string>>;

async function metricsOf(url: string): Promise<Record<keyof typeof METRICS, number>> {
  const series = await scrape(url);
  const measured = Object.entries(METRICS).map(([name, metric]) => {
    const found = series.get(metric);
    if (found === undefined) throw new Error(`the service does not measure ${metric}`);
    return [name, metric.endsWith('_seconds') ? found * 1000 : found];
  });
  return Object.fromEntries(measured);
}

async function sizeOf(file: string | undefined, ending: string): Promise<number> {
  if (file === undefined) return 0;
  // There is no write-ahead log before the first write.
  const { size } = await stat(file + ending).catch(() => ({ size: 0 }));
  return size;
}

if (values.help) process.stdout.write(USAGE);
else await main();
