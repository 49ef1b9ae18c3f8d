/**
 * The gain of group commit: inserts a second by 64 concurrent callers through the SQLite adapter, compared with the
 * same inserts with one commit each, on the same disk and with the same pragmas. Rounds alternate.
 *
 *   node bench/group-commit.ts [ROUNDS]       5 by default, 4 s each
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { makeDurable } from '../src/adapters/sqlite/connection.ts';
import { openSqliteStorage } from '../src/adapters/sqlite/open.ts';
import { PET_STATEMENTS } from '../src/adapters/sqlite/statements.ts';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import { storageHost } from '../test/support/storage-host.ts';
import { quantile, summary } from './support/statistics.ts';
import { aPet } from '../test/support/pets.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const CALLERS = 64;
const ROUND_MS = 2_000;

const rex = aPet();

type Figures = { readonly rate: number; readonly p50Ms: number; readonly p99Ms: number };

async function load(insert: () => Promise<unknown>): Promise<Figures> {
  const latencies: number[] = [];
  const start = performance.now();
  const end = start + ROUND_MS;
  const caller = async () => {
    for (let before = performance.now(); before < end; before = performance.now()) {
      await insert();
      latencies.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const seconds = (performance.now() - start) / 1000;
  return {
    rate: Math.round(latencies.length / seconds),
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  };
}

async function grouped(file: string): Promise<Figures> {
  const { pets, close } = await openSqliteStorage(file, storageHost(console.warn));
  const figures = await load(() => pets.insert(rex));
  await close();
  return figures;
}

async function oneByOne(file: string): Promise<Figures> {
  // Creates the schema.
  await (await openSqliteStorage(file, storageHost(console.warn))).close();
  const db = new DatabaseSync(file, { readBigInts: true });
  makeDurable(db);
  const insert = db.prepare(PET_STATEMENTS.insert);
  const figures = await load(async () => {
    // Like a request, the next insert comes in a later turn of the event loop.
    await turn();
    insert.run(rex.name, rex.categoryId, rex.status, null, null);
  });
  db.close();
  return figures;
}

function shown({ rate, p50Ms, p99Ms }: Figures): string {
  return `${rate} inserts/s, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
}

await using directory = await temporaryDirectory('bench');
const ratios: number[] = [];
for (let round = 1; round <= ROUNDS; round++) {
  const together = await grouped(join(directory.path, `grouped-${round}.db`));
  const each = await oneByOne(join(directory.path, `one-by-one-${round}.db`));
  ratios.push(together.rate / each.rate);
  console.log(`round ${round}: group commit ${shown(together)}; one commit each ${shown(each)}`);
}
console.log(`inserts/s with group commit, as a multiple of one commit each: ${summary(ratios, 1)}`);
