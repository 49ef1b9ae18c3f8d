/**
 * The speed and the memory of `petstore copy` from SQLite to MongoDB. Compared with bare `insertMany` of the same
 * documents, with the same batch size and write concern, into the same schema on the same server. Linux only.
 *
 *   node bench/copy.ts [PETS]       1000000 by default; needs about 600 bytes of disk for each pet
 *
 * The server is the one of the tests: `TEST_MONGODB_URI`, else a container or a process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Long, MongoClient } from 'mongodb';
import { migrate } from '../src/adapters/mongodb/migrate.ts';
import { openSqliteStorage } from '../src/adapters/sqlite/open.ts';
import { BATCH_SIZE } from '../src/application/maintenance/archive-source.ts';
import { PET_STATUSES, type Pet, petWithId } from '../src/domain/pet.ts';
import { startMongo } from '../test/support/mongodb.ts';
import { storageHost } from '../test/support/storage-host.ts';
import { aPet } from '../test/support/pets.ts';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import { ROOT } from './support/service.ts';

const COUNT = Number(process.argv[2] ?? 1_000_000);
const ROUNDS = 2;
const SAMPLE_MS = 250;

/** Names of usual length, every status, and categories up to the largest int64. */
function pet(n: number): Pet {
  const name = `${['Rex', 'Mitzi 🐈', 'Schrödinger', 'ハチ', 'Bartholomew the Second'][n % 5]} ${n}`;
  const categoryId = BigInt(n % 100) * 92_233_720_368_547_758n;
  return petWithId(BigInt(n + 1), aPet({ name, categoryId, status: PET_STATUSES[n % 3]! }));
}

function* batches(): Generator<Pet[]> {
  for (let start = 0; start < COUNT; start += BATCH_SIZE) {
    yield Array.from({ length: Math.min(BATCH_SIZE, COUNT - start) }, (_, index) => pet(start + index));
  }
}

async function fillSqlite(path: string): Promise<void> {
  const { archive, close } = await openSqliteStorage(path, storageHost(console.warn));
  for (const pets of batches()) await archive.write(pets);
  await close();
}

/** Pets a second. The time to build the documents does not count. */
async function insertMany(url: string): Promise<number> {
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

/** Runs `petstore copy`. Returns its pets per second, from start to end of the process, and samples of its memory. */
async function copy(from: string, to: string): Promise<{ rate: number; memoryMib: number[] }> {
  await migrate(to);
  const start = performance.now();
  const args = [join(ROOT, 'bin/petstore.js'), 'copy', '--from', from, '--to', to];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const exit = once(child, 'exit');
  const memoryMib: number[] = [];
  while (child.exitCode === null && child.signalCode === null) {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    const kib = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
    if (kib !== undefined) memoryMib.push(Number(kib) / 1024);
    await Promise.race([exit, sleep(SAMPLE_MS)]);
  }
  const [code] = await exit;
  if (code !== 0) throw new Error(`copy ended with ${code}`);
  const rate = (1000 * COUNT) / (performance.now() - start);
  const client = await new MongoClient(to).connect();
  await client.db().dropDatabase();
  await client.close();
  return { rate, memoryMib };
}

/** Ten samples over time, and the maximum. */
function course(mib: readonly number[]): string {
  const samples = Array.from({ length: 10 }, (_, n) => mib[Math.floor(((n + 0.5) * mib.length) / 10)] ?? 0);
  const shown = samples.map((sample) => sample.toFixed(0)).join(' ');
  return `${shown}; at most ${Math.max(...mib).toFixed(0)} MiB`;
}

await using directory = await temporaryDirectory('bench');
const mongo = await startMongo();
try {
  const path = join(directory.path, 'petstore.db');
  await fillSqlite(path);
  console.log(`${COUNT} pets, batches of ${BATCH_SIZE}, MongoDB as a ${mongo.kind}, Node ${process.version}`);
  for (let round = 1; round <= ROUNDS; round++) {
    const bareRate = await insertMany(mongo.url(`bench-bare-${round}`));
    const { rate, memoryMib } = await copy(`sqlite:${path}`, mongo.url(`bench-copy-${round}`));
    console.log(`round ${round}`);
    console.log(`  bare insertMany   ${Math.round(bareRate)} pets/s`);
    console.log(`  petstore copy     ${Math.round(rate)} pets/s, ${(rate / bareRate).toFixed(2)} of that`);
    console.log(`  resident memory   ${course(memoryMib)}`);
  }
} finally {
  await mongo.stop();
}
