import type { StorageKind } from '../../../src/application/ports/storage.ts';
import { JsonApiKeyRepository } from './api-key-repository.ts';
import { JsonFile } from './json-file.ts';
import { JsonPetRepository } from './pet-repository.ts';

/** A storage that follows the steps of `docs/architecture.md`: the tests prove that nothing else has to change. */
export const jsonFileStorage: StorageKind = {
  name: 'JSON',
  system: 'json',
  urlForm: 'json:PATH',
  persistent: true,
  shared: false,
  isUrl: (url) => /^json:./.test(url),
  async open(url) {
    const file = new JsonFile(url.slice('json:'.length));
    const pets = new JsonPetRepository(file);
    return {
      pets,
      archive: pets,
      keys: new JsonApiKeyRepository(file),
      probe: { check: async () => ({ lastId: await pets.lastId() }) },
      inspector: { async *findings() {} },
      close: async () => {},
    };
  },
};
