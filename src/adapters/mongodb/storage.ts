import type { Purpose, StorageKind } from '../../application/storage-kind.ts';

/**
 * Pets and API keys in a MongoDB database. The adapter and its driver are loaded when the database is opened.
 *
 * @param program how a user calls the program, for hints
 */
export function mongodbStorage(program: string): StorageKind<true> {
  return {
    name: 'MongoDB',
    system: 'mongodb',
    urlForm: 'mongodb://HOST/DATABASE',
    persistent: true,
    shared: true,
    isUrl: (url) => /^mongodb(?:\+srv)?:\/\/[^/?]+\/[^?]/.test(url),
    async open(url, purpose: Purpose) {
      const { openMongoArchive, openMongoStorage } = await import('./open.ts');
      return purpose.for === 'service'
        ? openMongoStorage(url, purpose, program)
        : openMongoArchive(url, program);
    },
    async migrate(url) {
      const { migrate } = await import('./migrate.ts');
      return migrate(url, program);
    },
    tools: { backUp: 'mongodump --oplog or snapshots of its volumes', restore: 'mongorestore' },
  };
}
