/**
 * How fast `petstore copy` brings pets from SQLite to MongoDB, and in how much memory: beside bare `insertMany` of the
 * same documents, with the same size of batch and the same write concern, into the same schema, on the same server.
 *
 *   node bench/copy.ts [PETS]       1000000 by default; needs about 600 bytes of disk a pet
 *
 * The server is that of the tests: `TEST_MONGODB_URI`, else a container or a process of its own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Long, MongoClient } from 'mongodb';
import { migrate } from '../src/adapters/mongodb/migrate.ts';
import { openSqliteStorage } from '../src/adapters/sqlite/open.ts';
import { BATCH_SIZE } from '../src/application/moving/batches.ts';
import { PET_STATUSES, type Pet, storedPet } from '../src/domain/pet.ts';
import { startMongo } from '../test/support/mongodb.ts';

const COUNT = Number(process.argv[2] ?? 1_000_000);
const ROUNDS = 2;
const ROOT = join(import.meta.dirname, '..');
const SAMPLE_MS = 250;

/** Of names as long as they are, of all statuses, and of categories as large as they may be. */
function pet(n: number): Pet {
  const name = `${['Rex', 'Mitzi 🐈', 'Schrödinger', 'ハチ', 'Bartholomew the Second'][n % 5]} ${n}`;
  const categoryId = BigInt(n % 100) * 92_233_720_368_547_758n;
  return storedPet(BigInt(n + 1), { name, categoryId, status: PET_STATUSES[n % 3]! });
}

function* batches(): Generator<Pet[]> {
  for (let start = 0; start < COUNT; start += BATCH_SIZE) {
    yield Array.from({ length: Math.min(BATCH_SIZE, COUNT - start) }, (_, index) => pet(start + index));
  }
}

async function fillSqlite(path: string): Promise<void> {
  const { archive, close } = await openSqliteStorage(path, { warn: console.warn });
  for (const pets of batches()) await archive.write(pets);
  await close();
}

/** Pets a second. Making the documents is not counted, only the driver and the server. */
async function bare(url: string): Promise<number> {
  await migrate(url);
  const client = await new MongoClient(url).connect();
  const collection = client.db().collection<{ _id: Long }>('pets');
  let ms = 0;
  for (const pets of batches()) {
    const documents = pets.map(({ id, name, categoryId, status }) => {
      return { _id: Long.fromBigInt(id), name, categoryId: Long.fromBigInt(categoryId), status };
    });
    const start = performance.now();
    await collection.insertMany(documents, {
      ordered: false,
      writeConcern: { w: 'majority', journal: true },
    });
    ms += performance.now() - start;
  }
  await client.db().dropDatabase();
  await client.close();
  return (1000 * COUNT) / ms;
}

/** Pets a second, from the start of the process to its end, and its resident memory in MiB on the way. */
async function copied(from: string, to: string): Promise<{ rate: number; memory: number[] }> {
  await migrate(to);
  const start = performance.now();
  const args = [join(ROOT, 'src/main/main.ts'), 'copy', '--from', from, '--to', to];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const exit = once(child, 'exit');
  const memory: number[] = [];
  while (child.exitCode === null && child.signalCode === null) {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    const kib = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
    if (kib !== undefined) memory.push(Number(kib) / 1024);
    await Promise.race([exit, sleep(SAMPLE_MS)]);
  }
  const [code] = await exit;
  if (code !== 0) throw new Error(`copy has ended with ${code}`);
  const rate = (1000 * COUNT) / (performance.now() - start);
  const client = await new MongoClient(to).connect();
  await client.db().dropDatabase();
  await client.close();
  return { rate, memory };
}

/** Ten looks at the course of it, and the most that it was. */
function course(memory: readonly number[]): string {
  const looks = Array.from(
    { length: 10 },
    (_, n) => memory[Math.floor(((n + 0.5) * memory.length) / 10)] ?? 0,
  );
  return `${looks.map((mib) => mib.toFixed(0)).join(' ')}; at most ${Math.max(...memory).toFixed(0)} MiB`;
}

const directory = await mkdtemp(join(tmpdir(), 'petstore-bench-'));
const mongo = await startMongo();
try {
  const path = join(directory, 'petstore.db');
  await fillSqlite(path);
  console.log(`${COUNT} pets, batches of ${BATCH_SIZE}, MongoDB as a ${mongo.kind}, Node ${process.version}`);
  for (let round = 1; round <= ROUNDS; round++) {
    const insertMany = await bare(mongo.url(`bench-bare-${round}`));
    const { rate, memory } = await copied(`sqlite:${path}`, mongo.url(`bench-copy-${round}`));
    console.log(`round ${round}`);
    console.log(`  bare insertMany   ${Math.round(insertMany)} pets/s`);
    console.log(`  petstore copy     ${Math.round(rate)} pets/s, ${(rate / insertMany).toFixed(2)} of it`);
    console.log(`  resident memory   ${course(memory)}`);
  }
} finally {
  await mongo.stop();
  await rm(directory, { recursive: true });
}
