import type { PersistentStorage, StorageKind } from '../../../src/application/ports/storage.ts';
import { JsonApiKeyRepository } from './api-key-repository.ts';
import { JsonFile } from './json-file.ts';
import { JsonPetRepository } from './pet-repository.ts';

/** A storage that follows the steps of `docs/architecture.md`: the tests prove that nothing else has to change. */
export const jsonFileStorage: StorageKind = {
  urlForm: 'json:PATH',
  persistent: true,
  parseUrl(url) {
    const path = /^json:(.+)$/.exec(url)?.[1];
    return path === undefined ? undefined : storageIn(new JsonFile(path));
  },
};

function storageIn(file: JsonFile): PersistentStorage {
  const close = async () => {};
  const keys = new JsonApiKeyRepository(file);
  const pets = new JsonPetRepository(file);
  return {
    persistent: true,
    shared: false,
    async openForService() {
      return { pets, keys, probe: { check: async () => ({ lastId: await pets.lastId() }) }, close };
    },
    openForReading: async () => ({ archive: pets, keys, close }),
    openForWriting: async () => ({ archive: pets, keys, close }),
    openKeys: async () => ({ keys, close }),
  };
}
