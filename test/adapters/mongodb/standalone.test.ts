import { expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { aKey } from '../../support/api-keys.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { openRepository, openService } from '../../support/mongo-database.ts';
import { startMongo } from '../../support/mongodb.ts';
import { aPet } from '../../support/pets.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';

it.skipIf(mongo === undefined)(`a standalone MongoDB server can be the storage${noMongo}`, async () => {
  const server = await startMongo({ replicaSet: false });
  onTestFinished(server.stop);
  const url = server.url('petstore');
  await migrate(url);
  await migrate(url);
  const { pets, keys, archive, probe } = await openService(url);

  await archive.reserve(3n);
  // These pets replace fences (documents that reserve ids). A standalone server has no transaction for this.
  await archive.write(archivedPets(3));
  const rex = await pets.insert(aPet());
  expect(rex).toStrictEqual({ id: 4n, ...aPet() });
  expect(await pets.findById(4n)).toStrictEqual(rex);
  expect(await pets.list({ limit: 10, after: 3n, status: 'available' })).toStrictEqual([rex]);
  expect(await archive.read(0n, 10)).toStrictEqual([...archivedPets(3), anArchivedPet({ id: 4n })]);
  await expect(probe.check()).resolves.toStrictEqual({ lastId: 4n });
  await keys.insert(aKey());
  expect(await keys.findById(aKey().id)).toStrictEqual(aKey());

  const { repository, commands } = await openRepository(url);
  expect(await repository.findById(99n)).toBeUndefined();
  // The find is the only command: a standalone server is not asked to confirm that it is the primary.
  expect(commands.map(({ commandName }) => commandName)).toStrictEqual(['find']);
});
