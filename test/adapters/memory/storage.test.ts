import { expect, it } from 'vitest';
import { memoryStorage } from '../../../src/adapters/memory/storage.ts';
import { silentHost } from '../../support/sqlite.ts';
import { aKey } from '../../support/api-keys.ts';
import { aPet } from '../../support/pets.ts';

const SERVICE = { log: silentHost, autoMigrate: false };

it('the storage in memory is named by one URL, and outlives no process', () => {
  expect(memoryStorage.urlForm).toBe('memory:');
  expect(memoryStorage.persistent).toBe(false);
  expect(memoryStorage.isUrl('memory:')).toBe(true);
  for (const url of ['', 'memory', 'memory:x', 'sqlite:x']) {
    expect(memoryStorage.isUrl(url)).toBe(false);
  }
});

it('the storage in memory is empty, always ready, and another one each time it is opened', async () => {
  const first = await memoryStorage.openService('memory:', SERVICE);
  await first.pets.insert(aPet());
  await first.keys.insert(aKey());
  expect(await first.probe.check()).toStrictEqual({ lastId: 1n });
  await first.close();

  const second = await memoryStorage.openService('memory:', SERVICE);
  expect(await second.pets.list({ limit: 1 })).toStrictEqual([]);
  expect(await second.keys.list()).toStrictEqual([]);
  expect(second.limiter).toBeUndefined();
});
