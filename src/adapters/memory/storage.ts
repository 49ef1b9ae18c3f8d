import type { StorageKind } from '../../application/ports/storage-kind.ts';

export const memoryStorage: StorageKind = {
  name: 'memory',
  system: 'memory',
  urlForm: 'memory:',
  caution: 'forgets them at exit',
  persistent: false,
  shared: false,
  isUrl: (url) => url === 'memory:',
  openService: open,
  openForReading: open,
  openForChecking: open,
  openForWriting: open,
  openKeys: open,
};

async function open() {
  const { InMemoryPetRepository } = await import('./pet-repository.ts');
  const { InMemoryApiKeyRepository } = await import('./api-key-repository.ts');
  const pets = new InMemoryPetRepository();
  return {
    pets,
    archive: pets,
    keys: new InMemoryApiKeyRepository(),
    probe: { check: async () => ({ lastId: await pets.lastId() }) },
    inspector: { async *findings() {} },
    close: async () => {},
  };
}
