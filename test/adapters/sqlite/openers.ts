import { sqliteStorage } from '../../../src/adapters/sqlite/storage.ts';
import { silentHost } from '../../support/sqlite.ts';
import { testDirectory } from '../../support/test-directory.ts';

/** A way to open the storage with a URL. */
export type Opener = (url: string) => Promise<{ close(): Promise<void> }>;

type NamedOpener = readonly [user: string, open: Opener];

/** The openers that create a missing file. */
export const CREATING: readonly NamedOpener[] = [
  ['a service', (url) => sqliteStorage.openService(url, { log: silentHost, autoMigrate: false })],
  ['a command that writes pets', (url) => sqliteStorage.openForWriting(url, silentHost)],
  [
    'a command that creates a key',
    (url) => sqliteStorage.openKeys(url, { mayCreate: true, log: silentHost }),
  ],
];

export const EXPORTING: NamedOpener = ['a command that reads', (url) => sqliteStorage.openForReading(url)];

export const BACKUP: NamedOpener = [
  'a backup',
  async (url) => {
    await sqliteStorage.backUp!(url, `${await testDirectory()}/backup.db`, () => {});
    return { close: async () => {} };
  },
];

/** The openers that write nothing. */
export const READING: readonly NamedOpener[] = [
  EXPORTING,
  ['a check', (url) => sqliteStorage.openForChecking(url)],
  BACKUP,
];

/** The openers that need an existing file. */
export const USING: readonly NamedOpener[] = [
  ...READING,
  ['a command that lists keys', (url) => sqliteStorage.openKeys(url, { mayCreate: false, log: silentHost })],
];

export const EVERY: readonly NamedOpener[] = [...CREATING, ...USING];
