import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { MeasuredStorageProbe } from '../../../src/adapters/metrics/measured-storage-probe.ts';
import { StorageMetrics } from '../../../src/adapters/metrics/storage-metrics.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { StorageProbe } from '../../../src/application/ports/storage-probe.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { nonZero, seriesOf } from '../../support/metrics.ts';

describe('a measured probe', () => {
  const AWAY = new StorageUnavailable('away');

  /** A measured probe, and the text of a scrape that asks it. */
  async function scrape(check: StorageProbe['check']) {
    const registry = new Registry();
    const probe = new MeasuredStorageProbe({ check }, new StorageMetrics(registry), registry);
    return { probe, registry, text: await registry.metrics() };
  }

  it.each<[string, StorageProbe['check'], number]>([
    ['ready', async () => ({ lastId: 0n }), 1],
    ['not ready', () => Promise.reject(AWAY), 0],
    ['silent', () => new Promise(() => {}), 0],
  ])('says at each scrape that the storage is %s', async (_, check, ready) => {
    const { text } = await scrape(check);
    expect(seriesOf(text).get('petstore_storage_ready')).toBe(ready);
  });

  it('says how many ids were left at the latest check', async () => {
    const { probe, registry } = await scrape(async () => ({ lastId: MAX_PET_ID - 7n }));
    expect(await probe.check()).toStrictEqual({ lastId: MAX_PET_ID - 7n });
    expect(seriesOf(await registry.metrics()).get('petstore_pet_ids_left')).toBe(7);
  });

  it('measures each check, that of a scrape included', async () => {
    const [storage, registry] = [new Registry(), new Registry()];
    const probe = new MeasuredStorageProbe(
      { check: () => Promise.reject(AWAY) },
      new StorageMetrics(storage),
      registry,
    );
    const failures = async () =>
      nonZero(seriesOf(await storage.metrics()), 'petstore_storage_failures_total');
    const name = 'petstore_storage_failures_total{operation="check",kind="unavailable"}';
    await expect(probe.check()).rejects.toBe(AWAY);
    expect(await failures()).toStrictEqual({ [name]: 1 });
    await registry.metrics();
    expect(await failures()).toStrictEqual({ [name]: 2 });
  });

  it('does not take a bug for an outage', async () => {
    await expect(scrape(() => Promise.reject(new TypeError('a bug')))).rejects.toThrow('a bug');
  });
});
