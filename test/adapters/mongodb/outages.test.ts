import { describe, expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { MongoPetRepository } from '../../../src/adapters/mongodb/pet-repository.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { PetRepository } from '../../../src/application/ports/pet-repository.ts';
import { newPet } from '../../../src/domain/pet.ts';
import {
  addressOf,
  freshDatabase,
  openRepository,
  throughPort,
  withOptions,
} from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });
const long = newPet({ name: 'Rex'.repeat(80), categoryId: 7n });
const calls = {
  insert: (pets: PetRepository) => pets.insert(rex),
  findById: (pets: PetRepository) => pets.findById(1n),
  list: (pets: PetRepository) => pets.list({ limit: 10, status: 'available' }),
};
const methods = ['insert', 'findById', 'list'] as const;

const TIMEOUT_MS = 500;
/** An allowance for timers and a busy machine. */
const SLACK_MS = 1_000;

describe.skipIf(mongo === undefined)(`when MongoDB cannot be reached${leftOut}`, () => {
  async function proxied(options: { timeoutMs?: number } = {}) {
    const { url, pets } = await freshDatabase(mongo!);
    const proxy = await new TcpProxy(addressOf(url)).listen();
    onTestFinished(() => proxy.close());
    const throughProxy = throughPort(url, proxy.port);
    const { repository, client } = await openRepository(throughProxy, options.timeoutMs ?? TIMEOUT_MS);
    return { repository, client, proxy, pets, url: throughProxy };
  }

  it('every call rejects within its deadline: the server is gone', async () => {
    const { repository, proxy } = await proxied();
    await repository.insert(rex);
    await proxy.close();

    for (const { method, error, ms } of await rejections(repository)) {
      expect(error, method).toBeInstanceOf(StorageUnavailable);
      expect(ms, method).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    }
  });

  it('every call rejects within its deadline, and works again later: the server is frozen', async () => {
    const { repository, proxy } = await proxied();
    await repository.insert(rex);
    proxy.stall();

    for (const { method, error, ms } of await rejections(repository)) {
      expect(error, method).toBeInstanceOf(StorageUnavailable);
      expect(ms, method).toBeGreaterThan(TIMEOUT_MS - 50);
      expect(ms, method).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    }
    proxy.resume();
    for (const method of methods) {
      await expect.poll(() => calls[method](repository), { timeout: 10_000 }).toBeTruthy();
    }
  });

  it('every call waits for a server that recovers in time', async () => {
    const { repository, proxy } = await proxied({ timeoutMs: 10_000 });
    await repository.insert(rex);
    proxy.stall();
    const calling = Promise.all(methods.map((method) => calls[method](repository)));
    setTimeout(() => proxy.resume(), 200);

    expect(await calling).toStrictEqual(methods.map(() => expect.anything()));
  });

  it('calls are unavailable at worst, and lose nothing, when connections keep being reset', async () => {
    const { repository, proxy, pets } = await proxied({ timeoutMs: 10_000 });
    const stored: bigint[] = [];
    const failures: unknown[] = [];
    const wanted = 500;
    let asked = 0;
    const client = async () => {
      while (asked < wanted) {
        asked++;
        // After a number of calls, not after a time: a busy machine would never finish a call in between.
        if (asked % 10 === 0) {
          if (asked % 20 === 0) proxy.reset(0.5);
          else proxy.end(0.5);
        }
        try {
          if (asked % 2 === 0) stored.push((await repository.insert(long)).id);
          else await repository.list({ limit: 100 });
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: 40 }, client));

    expect(failures.filter((error) => !(error instanceof StorageUnavailable))).toStrictEqual([]);
    expect(new Set(stored).size).toBe(stored.length);
    const there = new Set((await pets.find().toArray()).map(({ _id }) => _id));
    expect(stored.filter((id) => !there.has(id))).toStrictEqual([]);
  }, 120_000);

  it('the probe reports an outage within its own deadline, and the recovery', async () => {
    const { url } = await freshDatabase(mongo!);
    const proxy = await new TcpProxy(addressOf(url)).listen();
    onTestFinished(() => proxy.close());
    const { probe, close } = await openMongoStorage(throughPort(url, proxy.port), { autoMigrate: false });
    onTestFinished(close);
    await expect(probe.check()).resolves.toBeUndefined();

    proxy.stall();
    const { error, ms } = await failure(() => probe.check());
    expect(error).toBeInstanceOf(StorageUnavailable);
    expect(ms).toBeLessThan(2_000 + SLACK_MS);

    proxy.resume();
    await expect.poll(() => probe.check().then(() => 'ready'), { timeout: 10_000 }).toBe('ready');
  });

  it('every call rejects at once when the storage is closed', async () => {
    const { repository, client } = await proxied({ timeoutMs: 60_000 });
    await client.close();

    for (const { method, error, ms } of await rejections(repository)) {
      expect(error, method).toBeInstanceOf(StorageUnavailable);
      expect(ms, method).toBeLessThan(SLACK_MS);
    }
  });

  it('calls in flight reject when the storage is closed', async () => {
    const { repository, client, proxy } = await proxied({ timeoutMs: 60_000 });
    proxy.stall();
    const failing = rejections(repository);
    const closing = client.close();

    for (const { error } of await failing) expect(error).toBeInstanceOf(StorageUnavailable);
    // Otherwise the driver waits for the reply to its `endSessions`.
    proxy.resume();
    await closing;
  });

  it('a call without a connection from the pool rejects at its deadline', async () => {
    const { url } = await freshDatabase(mongo!);
    const proxy = await new TcpProxy(addressOf(url)).listen();
    onTestFinished(() => proxy.close());
    const { repository, client, reads } = await openRepository(
      withOptions(throughPort(url, proxy.port), { maxPoolSize: 1, waitQueueTimeoutMS: 50 }),
    );
    await repository.insert(rex);
    const holding = proxy.hold('find');
    const first = repository.findById(1n);
    const release = await holding;

    const impatient = new MongoPetRepository(client.db(), reads, { timeoutMs: TIMEOUT_MS });
    const { error } = await failure(() => impatient.findById(1n));
    release();

    expect(error).toBeInstanceOf(StorageUnavailable);
    expect(String(error instanceof Error && error.cause)).toMatch(/checking out a connection/);
    expect(await first).toMatchObject({ id: 1n });
  });
});

describe.skipIf(mongo === undefined)(`the probe${leftOut}`, () => {
  it('is unavailable when the schema version changes after the start', async () => {
    const { url, db } = await freshDatabase(mongo!);
    const { probe, close } = await openMongoStorage(url, { autoMigrate: false });
    onTestFinished(close);

    await db.collection<{ _id: string }>('schema').updateOne({ _id: 'petstore' }, { $set: { version: 99 } });
    await expect(probe.check()).rejects.toThrow(StorageUnavailable);
    await db.dropDatabase();
    await expect(probe.check()).rejects.toThrow(/migrate/);
    await migrate(url);
    await expect(probe.check()).resolves.toBeUndefined();
  });
});

/** How each call fails. All are made at once. */
function rejections(repository: PetRepository) {
  return Promise.all(
    methods.map(async (method) => ({ method, ...(await failure(() => calls[method](repository))) })),
  );
}

async function failure(work: () => Promise<unknown>): Promise<{ error: unknown; ms: number }> {
  const start = performance.now();
  try {
    await work();
  } catch (error) {
    return { error, ms: performance.now() - start };
  }
  throw new Error('should have failed');
}
