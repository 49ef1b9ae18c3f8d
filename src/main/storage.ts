import type { PetRepository } from '../application/ports/pet-repository.ts';
import type { StorageProbe } from '../application/ports/storage-probe.ts';
import type { Config } from './config.ts';

/** An open storage: the adapters behind the ports, and how to close them. */
export type Storage = {
  readonly pets: PetRepository;
  readonly probe: StorageProbe;
  close(): Promise<void>;
};

const SQLITE = 'sqlite:';

/** Opens the storage that `DATABASE_URL` names. An adapter and its driver are loaded only when they are used. */
export async function openStorage({
  DATABASE_URL,
  AUTO_MIGRATE,
}: Pick<Config, 'DATABASE_URL' | 'AUTO_MIGRATE'>): Promise<Storage> {
  if (DATABASE_URL === 'memory:') {
    const { InMemoryPetRepository } = await import('../adapters/memory/pet-repository.ts');
    return { pets: new InMemoryPetRepository(), probe: { check: async () => {} }, close: async () => {} };
  }
  if (DATABASE_URL.startsWith(SQLITE)) {
    const { openSqliteStorage } = await import('../adapters/sqlite/open.ts');
    return openSqliteStorage(DATABASE_URL.slice(SQLITE.length));
  }
  const { openMongoStorage } = await import('../adapters/mongodb/open.ts');
  return openMongoStorage(DATABASE_URL, { autoMigrate: AUTO_MIGRATE });
}
