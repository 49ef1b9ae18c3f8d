import { expect, it } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { openMongoArchive, openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

it
  .skipIf(mongo === undefined)
  .each<readonly [what: string, migrated: boolean, use: (url: string) => Promise<unknown>]>([
    ['a refusal', false, async (url) => expect(openMongoArchive(url)).rejects.toThrow(StorageSetupError)],
    ['a service', true, async (url) => (await openMongoStorage(url, { autoMigrate: false })).close()],
    ['a command', true, async (url) => (await openMongoArchive(url)).close()],
    ['a migration', true, migrate],
  ])(`MongoDB has no open connection left after %s${leftOut}`, async (_, migrated, use) => {
  const { url } = await freshDatabase(mongo!, { migrated });
  const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const before = sockets();

  await use(url);

  // Fewer, if those of an earlier test were just closing.
  await expect.poll(sockets).toBeLessThanOrEqual(before);
});
