import { once } from 'node:events';
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
const UNAVAILABLE = { kind: 'storage-unavailable' };
const LATE = { ...UNAVAILABLE, message: `MongoDB did not complete the call within ${TIMEOUT_MS} ms` };

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

    await expectRejections(repository, { ...UNAVAILABLE, message: 'MongoDB has no primary' });
  });

  it('every call rejects within its deadline, and works again later: the server is frozen', async () => {
    const { repository, proxy } = await proxied();
    await repository.insert(rex);
    proxy.stall();

    await expectRejections(repository, LATE);
    proxy.resume();
    for (const method of methods) {
      await expect.poll(() => calls[method](repository)).toBeTruthy();
    }
  });

  it('every call waits for a server that recovers in time', async () => {
    const { repository, client, proxy } = await proxied({ timeoutMs: 60_000 });
    await repository.insert(rex);
    proxy.stall();
    const sent = once(client, 'commandStarted');
    const calling = Promise.all(methods.map((method) => calls[method](repository)));
    await sent;
    proxy.resume();

    expect(await calling).toStrictEqual(methods.map(() => expect.anything()));
  });

  it('calls are unavailable at worst, and lose nothing, when connections keep being reset', async () => {
    const { repository, proxy, pets } = await proxied({ timeoutMs: 60_000 });
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
  });

  it('the probe reports an outage within its own deadline, and the recovery', async () => {
    const { url } = await freshDatabase(mongo!);
    const proxy = await new TcpProxy(addressOf(url)).listen();
    onTestFinished(() => proxy.close());
    const { probe, close } = await openMongoStorage(throughPort(url, proxy.port), { autoMigrate: false });
    onTestFinished(close);
    await expect(probe.check()).resolves.toStrictEqual({ lastId: 0n });

    proxy.stall();
    await expect(probe.check()).rejects.toThrow('MongoDB did not complete the call within 1500 ms');

    proxy.resume();
    await expect.poll(() => probe.check().then(() => 'ready')).toBe('ready');
  });

  it('every call rejects at once when the storage is closed', async () => {
    const { repository, client } = await proxied({ timeoutMs: 100_000_000 });
    await client.close();

    await expectRejections(repository, UNAVAILABLE);
  });

  it('calls in flight reject when the storage is closed', async () => {
    const { repository, client, proxy } = await proxied({ timeoutMs: 60_000 });
    proxy.stall();
    const failing = expectRejections(repository, UNAVAILABLE);
    const closing = client.close();

    await failing;
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
    await expect(impatient.findById(1n)).rejects.toMatchObject({
      ...UNAVAILABLE,
      cause: { message: expect.stringContaining('checking out a connection') },
    });
    release();
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
    await expect(probe.check()).resolves.toStrictEqual({ lastId: 0n });
  });
});

/** All calls are made at once. */
async function expectRejections(repository: PetRepository, error: object): Promise<void> {
  await Promise.all(
    methods.map((method) => expect(calls[method](repository), method).rejects.toMatchObject(error)),
  );
}
