import type { ApiKeyRepository } from '../application/ports/api-key-repository.ts';
import type { PetRepository } from '../application/ports/pet-repository.ts';
import type { RateLimiter } from '../application/ports/rate-limiter.ts';
import type { StorageLog } from '../application/ports/storage-log.ts';
import type { StorageProbe } from '../application/ports/storage-probe.ts';
import type { Config } from './config/config.ts';

/** An open storage: the adapters behind the ports, and how to close them. */
export type Storage = {
  readonly pets: PetRepository;
  readonly keys: ApiKeyRepository;
  /** Counts for every service that shares the storage. */
  readonly limiter: RateLimiter;
  readonly probe: StorageProbe;
  close(): Promise<void>;
};

const SQLITE = 'sqlite:';

/** Opens the storage that `DATABASE_URL` names. An adapter and its driver are loaded only when they are used. */
export async function openStorage(
  { DATABASE_URL, AUTO_MIGRATE }: Pick<Config, 'DATABASE_URL' | 'AUTO_MIGRATE'>,
  log: StorageLog,
): Promise<Storage> {
  if (DATABASE_URL.startsWith('mongodb')) {
    const { openMongoStorage } = await import('../adapters/mongodb/open.ts');
    return openMongoStorage(DATABASE_URL, { autoMigrate: AUTO_MIGRATE });
  }
  const { InMemoryRateLimiter } = await import('../adapters/memory/rate-limiter.ts');
  const limiter = new InMemoryRateLimiter();
  if (DATABASE_URL.startsWith(SQLITE)) {
    const { openSqliteStorage } = await import('../adapters/sqlite/open.ts');
    return { ...(await openSqliteStorage(DATABASE_URL.slice(SQLITE.length), log)), limiter };
  }
  const [{ InMemoryPetRepository }, { InMemoryApiKeyRepository }] = await Promise.all([
    import('../adapters/memory/pet-repository.ts'),
    import('../adapters/memory/api-key-repository.ts'),
  ]);
  return {
    pets: new InMemoryPetRepository(),
    keys: new InMemoryApiKeyRepository(),
    limiter,
    probe: { check: async () => {} },
    close: async () => {},
  };
}
