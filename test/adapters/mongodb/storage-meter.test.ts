import { describe, expect, it } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { ConnectionEvent, StorageMeter } from '../../../src/application/ports/storage-health.ts';
import { freshDatabase, openService, throughProxy } from '../../support/mongo-database.ts';
import { numbers } from '../../support/numbers.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { rex } from '../../support/pets.ts';

class RecordingMeter implements StorageMeter {
  readonly inserts: number[] = [];
  readonly #events: ConnectionEvent[] = [];

  insertsCommitted(inserts: number): void {
    this.inserts.push(inserts);
  }

  log(): void {}

  connection(event: ConnectionEvent): void {
    this.#events.push(event);
  }

  count(event: ConnectionEvent): number {
    return this.#events.filter((one) => one === event).length;
  }

  get open(): number {
    return this.count('opened') - this.count('closed');
  }

  get inUse(): number {
    return this.count('taken') - this.count('returned');
  }

  get waiting(): number {
    return this.count('requested') - this.count('taken') - this.count('refused');
  }
}

async function metered(url: string) {
  const meter = new RecordingMeter();
  return { meter, ...(await openService(url, { meter })) };
}

describe.skipIf(mongo === undefined)(`the meter of a MongoDB storage${leftOut}`, () => {
  it('learns of the commits that inserts share, without what the server has rejected', async () => {
    const { url } = await freshDatabase(mongo!);
    const { pets, meter } = await metered(url);
    await pets.insert(rex);
    const invalid = pets.insert({ ...rex, name: '' });
    await Promise.allSettled([pets.insert(rex), invalid, ...numbers(3).map(() => pets.insert(rex))]);

    expect(meter.inserts).toStrictEqual([1, 4]);
  });

  it('learns of every connection, and of the calls that wait for one or get none', async () => {
    const { url } = await freshDatabase(mongo!);
    const options = { maxPoolSize: 1, waitQueueTimeoutMS: 1_000, retryReads: false };
    const { url: proxyUrl, proxy } = await throughProxy(url, options);
    const { pets, meter, close } = await metered(proxyUrl);
    await pets.list({ limit: 1 });
    expect([meter.open, meter.inUse, meter.waiting]).toStrictEqual([1, 0, 0]);

    const release = proxy.hold('find');
    const first = pets.list({ limit: 1 });
    const forward = await release;
    expect([meter.open, meter.inUse, meter.waiting]).toStrictEqual([1, 1, 0]);
    const second = pets.list({ limit: 2, status: 'sold' });
    await expect.poll(() => meter.count('refused')).toBeGreaterThan(0);
    forward();
    await first;
    expect(await second).toStrictEqual([]);
    await expect.poll(() => [meter.open, meter.inUse, meter.waiting]).toStrictEqual([1, 0, 0]);

    await close();
    expect(meter.open).toBe(0);
    await expect(pets.list({ limit: 1 })).rejects.toThrow(StorageUnavailable);
  });
});
