import { expect, it } from 'vitest';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { MongoPetArchive } from '../../../src/adapters/mongodb/pet-archive.ts';
import { MongoPetRepository } from '../../../src/adapters/mongodb/pet-repository.ts';
import { aKey, at } from '../../support/api-keys.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { freshDatabase, openClient } from '../../support/mongo-database.ts';
import { mongo } from '../../support/shared-mongo.ts';
import { aPet } from '../../support/pets.ts';
import { sent } from '../../support/watch-commands.ts';

// In every test with MongoDB, watch-commands.ts fails each command that the journals of a majority do not acknowledge.
it.skipIf(mongo === undefined)('every kind of write and read is watched', async () => {
  sent.clear();
  const { url, db } = await freshDatabase(mongo!, { migrated: false });
  await db.createCollection('pets');
  await migrate(url);
  const client = await openClient(url);
  const pets = new MongoPetRepository(client.db, client.reads);
  const keys = new MongoApiKeyRepository(client.db, client.reads);
  const archive = new MongoPetArchive(client.db, client.reads);

  const [pet] = await Promise.all([aPet(), aPet(), aPet(), aPet()].map(async (each) => pets.insert(each)));
  await pets.insertOnce(aPet(), { key: 'k', fingerprint: 'f' });
  await pets.findById(pet!.id);
  await pets.list({ limit: 1 });
  await archive.write(archivedPets(3).map((each) => ({ ...each, id: each.id + 100n })));
  await archive.reserve(1_000n);
  await archive.write([anArchivedPet({ id: 1_000n })]);
  await archive.count(1_000n);
  await keys.insert(aKey(1));
  await keys.list();
  await keys.revoke(aKey(1).id, at(1));
  await keys.recordUse(new Map([[aKey(1).id, at(2)]]));

  expect([...sent].toSorted().join(', ')).toBe(
    'aggregate pets, collMod pets, commitTransaction 1, create api_keys, create rate_limits, createIndexes pets majority, ' +
      'createIndexes rate_limits majority, delete pets, find api_keys, find pets, ' +
      'find rate_limits, find schema, findAndModify api_keys, insert api_keys, ' +
      'insert pets, update api_keys, update schema',
  );
});
