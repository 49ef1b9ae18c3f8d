import { expect, it } from 'vitest';
import { memoryStorage } from '../../../src/adapters/memory/storage.ts';
import { silentHost } from '../../support/sqlite.ts';
import { aKey } from '../../support/api-keys.ts';
import { aPet } from '../../support/pets.ts';

const SERVICE_OPTIONS = { log: silentHost, autoMigrate: false };

it('the URL memory: selects the storage in memory, which is lost when the process ends', () => {
  expect(memoryStorage.urlForm).toBe('memory:');
  expect(memoryStorage.persistent).toBe(false);
  expect(memoryStorage.isUrl('memory:')).toBe(true);
  for (const url of ['', 'memory', 'memory:x', 'sqlite:x']) {
    expect(memoryStorage.isUrl(url)).toBe(false);
  }
});

it('the storage in memory is ready, and is a new and empty storage each time it is opened', async () => {
  const first = await memoryStorage.openService('memory:', SERVICE_OPTIONS);
  await first.pets.insert(aPet());
  await first.keys.insert(aKey());
  expect(await first.probe.check()).toStrictEqual({ lastId: 1n });
  await first.close();

  const second = await memoryStorage.openService('memory:', SERVICE_OPTIONS);
  expect(await second.pets.list({ limit: 1 })).toStrictEqual([]);
  expect(await second.keys.list()).toStrictEqual([]);
  expect(second.limiter).toBeUndefined();
});
