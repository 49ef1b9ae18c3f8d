import { describe, expect, it } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { ConnectionEvent, StorageMeter } from '../../../src/application/ports/storage-health.ts';
import { freshDatabase, openService, throughProxy } from '../../support/mongo-database.ts';
import { numbers } from '../../support/numbers.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { rex } from '../../support/pets.ts';

async function openWithMeter(url: string) {
  const inserts: number[] = [];
  const events: ConnectionEvent[] = [];
  const meter: StorageMeter = {
    insertsCommitted: (count) => void inserts.push(count),
    log: () => {},
    connection: (event) => void events.push(event),
  };
  const count = (event: ConnectionEvent) => events.filter((each) => each === event).length;
  /** The number of open connections, of connections in use, and of calls that wait for a connection. */
  const connections = () => [
    count('opened') - count('closed'),
    count('taken') - count('returned'),
    count('requested') - count('taken') - count('refused'),
  ];
  return { inserts, count, connections, ...(await openService(url, { meter })) };
}

describe.skipIf(mongo === undefined)(`the meter of a MongoDB storage${noMongo}`, () => {
  it('receives the number of stored inserts of each commit, without the rejected inserts', async () => {
    const { url } = await freshDatabase(mongo!);
    const { pets, inserts } = await openWithMeter(url);
    await pets.insert(rex);
    const invalid = pets.insert({ ...rex, name: '' });
    await Promise.allSettled([pets.insert(rex), invalid, ...numbers(3).map(() => pets.insert(rex))]);

    expect(inserts).toStrictEqual([1, 4]);
  });

  it('is notified of every connection, of the calls that wait for a connection, and of the calls that receive no connection', async () => {
    const { url } = await freshDatabase(mongo!);
    const options = { maxPoolSize: 1, waitQueueTimeoutMS: 1_000, retryReads: false };
    const { url: proxyUrl, proxy } = await throughProxy(url, options);
    const { pets, count, connections, close } = await openWithMeter(proxyUrl);
    await pets.list({ limit: 1 });
    expect(connections()).toStrictEqual([1, 0, 0]);

    const heldFind = proxy.hold('find');
    const firstList = pets.list({ limit: 1 });
    const forwardFind = await heldFind;
    expect(connections()).toStrictEqual([1, 1, 0]);
    const secondList = pets.list({ limit: 2, status: 'sold' });
    await expect.poll(() => count('refused')).toBeGreaterThan(0);
    forwardFind();
    await firstList;
    expect(await secondList).toStrictEqual([]);
    await expect.poll(connections).toStrictEqual([1, 0, 0]);

    await close();
    expect(connections()[0]).toBe(0);
    await expect(pets.list({ limit: 1 })).rejects.toThrow(StorageUnavailable);
  });
});
