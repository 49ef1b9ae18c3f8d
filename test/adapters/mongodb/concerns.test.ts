import { expect, it } from 'vitest';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { MongoPetArchive } from '../../../src/adapters/mongodb/pet-archive.ts';
import { MongoPetRepository } from '../../../src/adapters/mongodb/pet-repository.ts';
import { aKey, at } from '../../support/api-keys.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { databasePool, freshDatabase, isConfirmation, openClient } from '../../support/mongo-database.ts';
import { mongo } from '../../support/shared-mongo.ts';
import { aPet } from '../../support/pets.ts';
import { sentCommands } from '../../support/watch-commands.ts';

const emptyDatabase = databasePool(() => mongo!);

async function open(url: string) {
  const { db, reads, commands } = await openClient(url);
  const ports = {
    pets: new MongoPetRepository(db, reads),
    keys: new MongoApiKeyRepository(db, reads),
    archive: new MongoPetArchive(db, reads),
  };
  return { ports, commands };
}

// `watchCommands` runs in every test with MongoDB. It rejects a write that does not wait until a majority of the
// members has the write in their journals. It rejects a read that may return documents that only a minority has.
// `sentCommands` lists the commands that `watchCommands` has checked. This test compares the list with the commands
// that the methods below send.
it.skipIf(mongo === undefined)('watchCommands checks each kind of command of a MongoDB storage', async () => {
  sentCommands.clear();
  const { url, db } = await freshDatabase(mongo!, { migrated: false });
  await db.createCollection('pets');
  await migrate(url);
  const { pets, keys, archive } = (await open(url)).ports;

  const [pet] = await Promise.all([aPet(), aPet(), aPet(), aPet()].map(async (each) => pets.insert(each)));
  await pets.insertOnce(aPet(), { key: 'k', fingerprint: 'f' });
  await pets.findById(pet!.id);
  await pets.list({ limit: 1 });
  await archive.write(archivedPets(3).map((archived) => ({ ...archived, id: archived.id + 100n })));
  await archive.reserve(1_000n);
  await archive.write([anArchivedPet({ id: 1_000n })]);
  await archive.count(1_000n);
  await keys.insert(aKey(1));
  await keys.list();
  await keys.revoke(aKey(1).id, at(1));
  await keys.recordUse(new Map([[aKey(1).id, at(2)]]));

  // Each text is the name of a command and a collection. `majority` is the commit quorum of an index build.
  expect([...sentCommands].toSorted().join(', ')).toBe(
    'aggregate pets, collMod pets, commitTransaction 1, create api_keys, create rate_limits, createIndexes pets majority, ' +
      'createIndexes rate_limits majority, delete pets, find api_keys, find pets, ' +
      'find rate_limits, find schema, findAndModify api_keys, insert api_keys, ' +
      'insert pets, update api_keys, update schema',
  );
});

type Ports = Awaited<ReturnType<typeof open>>['ports'];

// A client confirms the primary: it asks the server whether a majority of the members still has the server as primary.
// confirmations.test.ts tests the confirmations after an election.
it.skipIf(mongo === undefined).each<readonly [string, (ports: Ports) => Promise<unknown>]>([
  ['pets.insert()', ({ pets }) => pets.insert(aPet())],
  ['pets.findById()', ({ pets }) => pets.findById(1n)],
  ['pets.list()', ({ pets }) => pets.list({ limit: 10 })],
  ['pets.list() with a status', ({ pets }) => pets.list({ limit: 10, status: 'sold' })],
  ['keys.findById()', ({ keys }) => keys.findById(aKey().id)],
  ['keys.list()', ({ keys }) => keys.list()],
  ['archive.greatestId()', ({ archive }) => archive.greatestId()],
  ['archive.lastId()', ({ archive }) => archive.lastId()],
  ['archive.count()', ({ archive }) => archive.count(1n)],
  ['archive.read()', ({ archive }) => archive.read(0n, 10)],
  ['archive.write()', ({ archive }) => archive.write([anArchivedPet({ id: 1n })])],
])('a new MongoDB client confirms the primary once, before the other commands of %s', async (_, call) => {
  const { url } = await emptyDatabase();
  const { ports, commands } = await open(url);
  await call(ports);

  expect(commands.map(isConfirmation)).toStrictEqual(commands.map((_command, index) => index === 0));
});
