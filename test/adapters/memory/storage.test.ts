import { expect, it } from 'vitest';
import { memoryStorage } from '../../../src/adapters/memory/storage.ts';
import { silentHost } from '../../support/sqlite.ts';
import { aKey } from '../../support/api-keys.ts';
import { aPet } from '../../support/pets.ts';

const SERVICE_OPTIONS = { log: silentHost, autoMigrate: false };

it('memoryStorage accepts only the URL "memory:", and is not persistent', () => {
  expect(memoryStorage.urlForm).toBe('memory:');
  expect(memoryStorage.persistent).toBe(false);
  expect(memoryStorage.isUrl('memory:')).toBe(true);
  for (const url of ['', 'memory', 'memory:x', 'sqlite:x']) {
    expect(memoryStorage.isUrl(url)).toBe(false);
  }
});

it('memoryStorage.openService opens a new and empty storage at each call', async () => {
  const first = await memoryStorage.openService('memory:', SERVICE_OPTIONS);
  await first.pets.insert(aPet());
  await first.keys.insert(aKey());
  expect(await first.probe.check()).toStrictEqual({ lastId: 1n });
  await first.close();

  const second = await memoryStorage.openService('memory:', SERVICE_OPTIONS);
  expect(await second.pets.list({ limit: 1 })).toStrictEqual([]);
  expect(await second.keys.list()).toStrictEqual([]);
  // The service uses its own limiter in memory if the storage has none.
  expect(second.limiter).toBeUndefined();
});
