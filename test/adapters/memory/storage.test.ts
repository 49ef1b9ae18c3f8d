import { describe, expect, it } from 'vitest';
import { memoryStorage } from '../../../src/adapters/memory/storage.ts';
import { silentLog } from '../../support/sqlite.ts';
import { aKey } from '../../support/api-keys.ts';
import { aPet } from '../../support/pets.ts';

const OPTIONS = { log: silentLog, autoMigrate: false };

describe('the storage in memory', () => {
  it('is named by one URL, and outlives no process', () => {
    expect(memoryStorage.urlForm).toBe('memory:');
    expect(memoryStorage.persistent).toBe(false);
    expect(memoryStorage.parseUrl('memory:')).toMatchObject({ persistent: false });
    for (const url of ['', 'memory', 'memory:x', 'sqlite:x']) {
      expect(memoryStorage.parseUrl(url)).toBeUndefined();
    }
  });

  it('is empty, always ready, and another one each time it is opened', async () => {
    const storage = memoryStorage.parseUrl('memory:')!;
    const first = await storage.openForService(OPTIONS);
    await first.pets.insert(aPet());
    await first.keys.insert(aKey());
    expect(await first.probe.check()).toStrictEqual({ lastId: 1n });
    await first.close();

    const second = await storage.openForService(OPTIONS);
    expect(await second.pets.list({ limit: 1 })).toStrictEqual([]);
    expect(await second.keys.list()).toStrictEqual([]);
    expect(second.limiter).toBeUndefined();
  });
});
