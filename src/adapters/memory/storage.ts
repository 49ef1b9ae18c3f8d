import type { EphemeralStorage, StorageKind } from '../../application/ports/storage.ts';

/** Pets and API keys in the memory of the process. */
export const memoryStorage: StorageKind = {
  urlForm: 'memory:',
  persistent: false,
  parseUrl: (url) => (url === 'memory:' ? MEMORY : undefined),
};

const MEMORY: EphemeralStorage = {
  persistent: false,
  async openForService() {
    const [{ InMemoryPetRepository }, { InMemoryApiKeyRepository }] = await Promise.all([
      import('./pet-repository.ts'),
      import('./api-key-repository.ts'),
    ]);
    const pets = new InMemoryPetRepository();
    return {
      pets,
      keys: new InMemoryApiKeyRepository(),
      probe: { check: async () => ({ lastId: await pets.lastId() }) },
      close: async () => {},
    };
  },
};
