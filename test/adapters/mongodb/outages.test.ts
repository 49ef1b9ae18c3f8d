import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { MongoPetRepository } from '../../../src/adapters/mongodb/pet-repository.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { callAll } from '../../contracts/storage-kind.ts';
import { aKey } from '../../support/api-keys.ts';
import { freshDatabase, openClient, openService, throughProxy } from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { aPet } from '../../support/pets.ts';

/** No call of a test takes this long. */
const LONG_TIMEOUT_MS = 1_000_000;
const UNAVAILABLE_ERROR = { kind: 'storage-unavailable' };

describe.skipIf(mongo === undefined)(`while MongoDB cannot be reached,${noMongo}`, () => {
  async function openThroughProxy() {
    const { url } = await freshDatabase(mongo!);
    const { url: proxyUrl, proxy } = await throughProxy(url);
    const { db, reads, client } = await openClient(proxyUrl);
    const ports = {
      pets: new MongoPetRepository(db, reads, { timeoutMs: LONG_TIMEOUT_MS }),
      keys: new MongoApiKeyRepository(db, reads, LONG_TIMEOUT_MS),
    };
    await ports.pets.insert(aPet());
    await ports.keys.insert(aKey());
    return { ports, client, proxy, url: proxyUrl };
  }

  // This test is about the probe. test/contracts/storage-kind.ts tests the calls for pets and API keys in an outage.
  it('the probe rejects within its deadline, and succeeds again after the outage', async () => {
    const { proxy, url } = await openThroughProxy();
    const { probe } = await openService(url);
    await expect(probe.check()).resolves.toStrictEqual({ lastId: 1n });
    proxy.stall();

    const message = 'MongoDB did not complete the call within 1500 ms';
    await expect(probe.check()).rejects.toMatchObject({ ...UNAVAILABLE_ERROR, message });
    proxy.resume();
    await expect.poll(() => probe.check().then(() => 'ready')).toBe('ready');
  });

  // The driver alone would need 2 s, because it waits for a new connection on which it can end its sessions. The
  // storage stops waiting for the driver after 1.5 s.
  it('closing the storage takes less than 1.9 s even if a call on the only connection has no reply', async () => {
    const { proxy, url } = await openThroughProxy();
    const { pets, close } = await openService(`${url}${url.includes('?') ? '&' : '?'}maxPoolSize=1`);
    await pets.insert(aPet());
    proxy.stall();
    const call = pets.findById(1n).catch((error: unknown) => error);
    // The event loop turns 200 times, so that the call is sent and occupies the connection.
    for (let n = 0; n < 200; n++) await new Promise(setImmediate);
    const closeBeganMs = performance.now();

    await close();

    expect(performance.now() - closeBeganMs).toBeLessThan(1_900);
    proxy.resume();
    expect(await call).toMatchObject(UNAVAILABLE_ERROR);
  });

  it('every call waits, and succeeds if the server recovers before the deadline of the call', async () => {
    const { ports, client, proxy } = await openThroughProxy();
    proxy.stall();
    const firstCommand = once(client, 'commandStarted');
    const calling = callAll(ports);
    await firstCommand;
    proxy.resume();

    expect((await calling).filter(({ status }) => status === 'rejected')).toStrictEqual([]);
  });

  it('closing the client immediately rejects the pending calls and all later calls', async () => {
    const { ports, client, proxy } = await openThroughProxy();
    proxy.stall();
    const pendingCalls = callAll(ports);
    const closing = client.close();

    for (const outcomes of [await pendingCalls, await callAll(ports)]) {
      expect(outcomes).toMatchObject(outcomes.map(() => ({ status: 'rejected', reason: UNAVAILABLE_ERROR })));
    }
    // The driver finishes its close when it has the reply to its command `endSessions`.
    proxy.resume();
    await closing;
  });
});

it.skipIf(mongo === undefined)(
  `the probe of MongoDB rejects when the schema version is wrong or the database is removed, and succeeds after a migration${noMongo}`,
  async () => {
    const { url, db } = await freshDatabase(mongo!);
    const { probe } = await openService(url);

    await db.collection<{ _id: string }>('schema').updateOne({ _id: 'petstore' }, { $set: { version: 99 } });
    await expect(probe.check()).rejects.toThrow(StorageUnavailable);
    await db.dropDatabase();
    await expect(probe.check()).rejects.toThrow(/migrate/);
    await migrate(url);
    await expect(probe.check()).resolves.toStrictEqual({ lastId: 0n });
  },
);
