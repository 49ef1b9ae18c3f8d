import type { PersistentStorage, StorageKind } from '../../application/ports/storage.ts';

/**
 * Pets and API keys in a MongoDB database.
 *
 * @param program how a user calls the program, for hints
 */
export function mongodbStorage(program: string): StorageKind {
  return {
    urlForm: 'mongodb://HOST/DATABASE',
    persistent: true,
    parseUrl: (url) =>
      /^mongodb(?:\+srv)?:\/\/[^/?]+\/[^?]/.test(url) ? mongodbDatabase(url, program) : undefined,
  };
}

/** The adapter and its driver are loaded when the database is opened. */
function mongodbDatabase(url: string, program: string): PersistentStorage {
  const openArchive = async () => {
    const { openMongoArchive } = await import('./open.ts');
    return openMongoArchive(url, program);
  };
  return {
    persistent: true,
    shared: true,
    async openForService(options) {
      const { openMongoStorage } = await import('./open.ts');
      return openMongoStorage(url, options, program);
    },
    openForReading: openArchive,
    openForChecking: openArchive,
    openForWriting: openArchive,
    openKeys: openArchive,
    async migrate() {
      const { migrate } = await import('./migrate.ts');
      return migrate(url);
    },
  };
}
