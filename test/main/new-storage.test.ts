// Follows the last steps for a new storage in docs/architecture.md, with one in memory that only the tests know.
import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { InMemoryApiKeyRepository } from '../../src/adapters/memory/api-key-repository.ts';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { memoryStorage } from '../../src/adapters/memory/storage.ts';
import type { StorageKind } from '../../src/application/storage-kind.ts';
import { readConfig } from '../../src/main/config/config.ts';
import { parseDatabaseUrl, STORAGES } from '../../src/main/config/storages.ts';
import { start } from '../../src/main/service/start.ts';
import { ask, KEY } from '../support/client.ts';
import { succeeds } from '../support/command.ts';

const stores = new Map<string, ReturnType<typeof newStore>>();

function newStore() {
  const pets = new InMemoryPetRepository();
  const probe = { check: async () => ({ lastId: await pets.lastId() }) };
  const inspector = { async *findings() {} };
  return {
    pets,
    archive: pets,
    keys: new InMemoryApiKeyRepository(),
    probe,
    inspector,
    close: async () => {},
  };
}

/** Outlives the commands, but not the tests. */
const shelf: StorageKind = {
  ...memoryStorage,
  name: 'shelf',
  urlForm: 'shelf:NAME',
  persistent: true,
  isUrl: (url) => url.startsWith('shelf:'),
  async open(url) {
    const store = stores.get(url) ?? newStore();
    stores.set(url, store);
    return store;
  },
};
/** With the line that a new storage adds to src/main/config/storages.ts. */
const storages = [...STORAGES, shelf];

it('every command and the service reach a new storage', async () => {
  const petstore = async (...args: string[]) => {
    return (await succeeds(args, { DATABASE_URL: 'shelf:one' }, { storages })).stdout;
  };
  expect(await petstore('import', 'examples/pets.ndjson')).toBe('imported 300 pets\n');
  const token = (await petstore('keys', 'create', '--label', 'till')).trim();
  expect(await petstore('keys', 'list')).toContain('till');
  expect(await petstore('export')).toBe(await readFile('examples/pets.ndjson', 'utf8'));
  expect(await petstore('check')).toContain('300 pets');
  expect(await petstore('copy', '--from', 'shelf:one', '--to', 'shelf:two')).toBe(
    'copied 300 pets\ncopied 1 API key\n',
  );

  const config = readConfig({ PORT: '0', API_KEYS: KEY, DATABASE_URL: 'shelf:two' }, storages);
  const { url, stop } = await start(config, pino({ level: 'silent' }, { write: () => {} }));
  onTestFinished(async () => void (await stop()));
  expect(await ask(`${url}/v1/pets/300`, { key: token })).toMatchObject({ status: 200 });
  expect(await ask(`${url}/readyz`)).toMatchObject({ status: 200 });
});

it('a storage without its line is unknown', () => {
  expect(parseDatabaseUrl('shelf:one', STORAGES)).toBeUndefined();
  expect(() => readConfig({ DATABASE_URL: 'shelf' }, storages)).toThrow(
    'DATABASE_URL must be sqlite:PATH, mongodb://HOST/DATABASE, memory: or shelf:NAME',
  );
});
