/**
 * What a page costs among few and among many pets, at the port of an adapter, without HTTP. All sizes are open at
 * once, and the rounds alternate between them. Also the time to open a storage, and the bytes that a pet takes.
 *
 *   node --expose-gc bench/growth.ts URL SIZE...        such as memory: 1000 100000 10000000
 *
 * URL is `memory:`, `sqlite:DIRECTORY/` or `mongodb://HOST/`. Ten million pets take 1.5 GB of memory, or 0.5 GB of
 * disk. Prints one line of JSON.
 */
import { statSync } from 'node:fs';
import type { ServiceStorage, Storage } from '../src/application/ports/storage-kind.ts';
import { PET_STATUSES, type Pet, petWithId } from '../src/domain/pet.ts';
import { parseDatabaseUrl, STORAGES } from '../src/main/config/storages.ts';
import type { GrowthResult } from './harness/measure-growth.ts';
import { aPet } from '../test/support/pets.ts';
import { storageHost } from '../test/support/storage-host.ts';
import { quantile } from './support/statistics.ts';

const ROUNDS = 15;
const OPENINGS = 5;
/** What a page of 20 asks for: one more tells whether another page follows. */
const LIMIT = 21;
/** The same number of different pages at every size: a cache helps all sizes alike. */
const PLACES = 500;
const BATCH = 1_000;

const [url = 'memory:', ...sizes] = process.argv.slice(2);

function pet(index: number): Pet {
  const fields = { name: `Rex ${index % 100}`, categoryId: BigInt(index % 10) };
  return petWithId(BigInt(index + 1), aPet({ ...fields, status: PET_STATUSES[index % 3]! }));
}

type Open = {
  readonly count: number;
  readonly storage: ServiceStorage;
  readonly openMs: number;
  readonly bytesAPet?: number;
};

function storageOf(count: number): { readonly storage: Storage; readonly path: string | undefined } {
  const full = url === 'memory:' ? url : `${url}growth_${count}`;
  const storage = parseDatabaseUrl(full, STORAGES);
  if (storage === undefined) throw new Error(`no storage has the URL ${full}`);
  return { storage, path: /^sqlite:(.+)$/.exec(full)?.[1] };
}

async function fill(count: number, write: (pets: readonly Pet[]) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    await write(Array.from({ length: Math.min(BATCH, count - from) }, (_, index) => pet(from + index)));
    if (from % 1_000_000 === 0 && from > 0) console.error(`${url} ${from} of ${count} pets`);
  }
}

/** Opens the storage and reads a page. */
async function openFilled(storage: Storage): Promise<{ storage: ServiceStorage; openMs: number }> {
  const started = performance.now();
  const opened = await storage.kind.openService(storage.url, {
    log: storageHost(console.warn),
    autoMigrate: true,
  });
  if (storage.kind.persistent) await opened.pets.list({ limit: LIMIT });
  return { storage: opened, openMs: performance.now() - started };
}

async function openEphemeral(storage: Storage, count: number): Promise<Open> {
  const { storage: opened, openMs } = await openFilled(storage);
  const before = heapBytes();
  await fill(count, async (pets) => {
    for (const one of pets) await opened.pets.insert(one);
  });
  return { count, storage: opened, openMs, bytesAPet: (heapBytes() - before) / count };
}

async function open(count: number): Promise<Open> {
  const { storage, path } = storageOf(count);
  if (!storage.kind.persistent) return openEphemeral(storage, count);
  const host = storageHost(console.warn);
  await storage.kind.migrate?.(storage.url, host);
  const { archive, close } = await storage.kind.openForWriting(storage.url, host);
  await fill(count, (pets) => archive.write(pets));
  await archive.reserve(BigInt(count));
  await close();
  const openMs: number[] = [];
  for (let i = 1; i < OPENINGS; i++) {
    const once = await openFilled(storage);
    await once.storage.close();
    openMs.push(once.openMs);
  }
  const filled = await openFilled(storage);
  return {
    count,
    storage: filled.storage,
    openMs: quantile([...openMs, filled.openMs], 0.5),
    ...(path !== undefined && { bytesAPet: statSync(path).size / count }),
  };
}

function heapBytes(): number {
  if (globalThis.gc === undefined) throw new Error('run it with --expose-gc');
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** The time of a page in microseconds, everywhere in the catalogue. */
async function pageUs({ storage, count }: Open, status?: Pet['status']): Promise<number> {
  const step = (count - 100) / PLACES;
  const places = Array.from({ length: PLACES }, (_, place) => BigInt(Math.floor(place * step)));
  const started = performance.now();
  for (const after of places) await storage.pets.list({ limit: LIMIT, after, status });
  return ((performance.now() - started) * 1000) / PLACES;
}

const opened: Open[] = [];
for (const size of sizes) opened.push(await open(Number(size)));
const rounds = opened.map(() => ({ page: [] as number[], filtered: [] as number[] }));
for (let round = 0; round < ROUNDS; round++) {
  for (const [index, one] of opened.entries()) {
    rounds[index]!.page.push(await pageUs(one));
    rounds[index]!.filtered.push(await pageUs(one, 'available'));
  }
}
const results = opened.map(({ count, openMs, bytesAPet }, index): GrowthResult => {
  // The first rounds warm up.
  const { page, filtered } = rounds[index]!;
  return {
    pets: count,
    openMs,
    ...(bytesAPet !== undefined && { bytesAPet }),
    pageUs: quantile(page.slice(3), 0.5),
    filteredUs: quantile(filtered.slice(3), 0.5),
  };
});
for (const { storage } of opened) await storage.close();
console.log(JSON.stringify(results));
