/**
 * What group commit brings: inserts a second by 64 callers at once through the SQLite adapter, beside the same inserts
 * with a commit each, on the same disk and with the same pragmas. Rounds take turns.
 *
 *   node bench/group-commit.ts [ROUNDS]       5 by default, 4 s each
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { makeDurable } from '../src/adapters/sqlite/connection.ts';
import { openSqliteStorage } from '../src/adapters/sqlite/open.ts';
import { INSERT_STATEMENTS } from '../src/adapters/sqlite/statements.ts';
import { newPet } from '../src/domain/pet.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const CALLERS = 64;
const ROUND_MS = 2_000;

const rex = newPet({ name: 'Rex', categoryId: 7n });

type Figures = { readonly rate: number; readonly p50: number; readonly p99: number };

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
  latencies.sort((a, b) => a - b);
  const quantile = (q: number) => latencies[Math.floor(latencies.length * q)] ?? 0;
  return { rate: Math.round(latencies.length / seconds), p50: quantile(0.5), p99: quantile(0.99) };
}

async function grouped(file: string): Promise<Figures> {
  const { pets, close } = await openSqliteStorage(file, { warn: console.warn });
  const figures = await load(() => pets.insert(rex));
  await close();
  return figures;
}

async function oneByOne(file: string): Promise<Figures> {
  // The schema of the service.
  await (await openSqliteStorage(file, { warn: console.warn })).close();
  const db = new DatabaseSync(file, { readBigInts: true });
  makeDurable(db);
  const insert = db.prepare(INSERT_STATEMENTS.insert);
  const figures = await load(async () => {
    // As with requests, the next one comes in a later turn of the event loop.
    await turn();
    insert.run(rex.name, rex.categoryId, rex.status, null, null);
  });
  db.close();
  return figures;
}

function shown({ rate, p50, p99 }: Figures): string {
  return `${rate} inserts/s, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
}

const directory = await mkdtemp(join(tmpdir(), 'petstore-bench-'));
try {
  const ratios: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const together = await grouped(join(directory, `grouped-${round}.db`));
    const each = await oneByOne(join(directory, `one-by-one-${round}.db`));
    ratios.push(together.rate / each.rate);
    console.log(`round ${round}: group commit ${shown(together)}; a commit each ${shown(each)}`);
  }
  ratios.sort((a, b) => a - b);
  const [least, median, most] = [0, 0.5, 1].map((q) =>
    ratios[Math.round((ratios.length - 1) * q)]?.toFixed(1),
  );
  console.log(`group commit is ${median} times as fast (${least} to ${most})`);
} finally {
  await rm(directory, { recursive: true });
}
