import { sqliteStorage } from '../../../src/adapters/sqlite/storage.ts';
import { silentHost } from '../../support/sqlite.ts';
import { testDirectory } from '../../support/test-directory.ts';

/** A way to open the storage with a URL. */
export type Opener = (url: string) => Promise<{ close(): Promise<void> }>;

type Named = readonly [by: string, open: Opener];

/** Those that create a missing file. */
export const CREATING: readonly Named[] = [
  ['a service', (url) => sqliteStorage.openService(url, { log: silentHost, autoMigrate: false })],
  ['a command that writes pets', (url) => sqliteStorage.openForWriting(url, silentHost)],
  [
    'a command that creates a key',
    (url) => sqliteStorage.openKeys(url, { mayCreate: true, log: silentHost }),
  ],
];

export const EXPORTING: Named = ['a command that reads pets', (url) => sqliteStorage.openForReading(url)];

export const BACKUP: Named = [
  'a backup',
  async (url) => {
    await sqliteStorage.backUp!(url, `${await testDirectory()}/backup.db`, () => {});
    return { close: async () => {} };
  },
];

/** Those that write nothing. */
export const READING: readonly Named[] = [
  EXPORTING,
  ['a check', (url) => sqliteStorage.openForChecking(url)],
  BACKUP,
];

/** Those that need a file. */
export const USING: readonly Named[] = [
  ...READING,
  ['a command that lists keys', (url) => sqliteStorage.openKeys(url, { mayCreate: false, log: silentHost })],
];

export const EVERY: readonly Named[] = [...CREATING, ...USING];
