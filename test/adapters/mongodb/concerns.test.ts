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
import { sentCommands as checkedCommands } from '../../support/watch-commands.ts';

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

// In every test with MongoDB, `watchCommands` rejects each write that does not wait for the journals of a majority of
// the members, and each read of documents that a majority may not have.
it.skipIf(mongo === undefined)('watchCommands checks every command of a storage in MongoDB', async () => {
  checkedCommands.clear();
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

  expect([...checkedCommands].toSorted().join(', ')).toBe(
    'aggregate pets, collMod pets, commitTransaction 1, create api_keys, create rate_limits, createIndexes pets majority, ' +
      'createIndexes rate_limits majority, delete pets, find api_keys, find pets, ' +
      'find rate_limits, find schema, findAndModify api_keys, insert api_keys, ' +
      'insert pets, update api_keys, update schema',
  );
});

type Ports = Awaited<ReturnType<typeof open>>['ports'];

// A client confirms the primary: it asks the server whether it is the primary for a majority of the members.
// confirmations.test.ts tests what happens after an election.
it.skipIf(mongo === undefined).each<readonly [string, (ports: Ports) => Promise<unknown>]>([
  ['insert() of a pet', ({ pets }) => pets.insert(aPet())],
  ['findById() of a pet', ({ pets }) => pets.findById(1n)],
  ['list() of pets', ({ pets }) => pets.list({ limit: 10 })],
  ['list() of pets with a status', ({ pets }) => pets.list({ limit: 10, status: 'sold' })],
  ['findById() of an API key', ({ keys }) => keys.findById(aKey().id)],
  ['list() of API keys', ({ keys }) => keys.list()],
  ['greatestId() of the archive', ({ archive }) => archive.greatestId()],
  ['lastId() of the archive', ({ archive }) => archive.lastId()],
  ['count() of the archive', ({ archive }) => archive.count(1n)],
  ['read() of the archive', ({ archive }) => archive.read(0n, 10)],
  ['write() of the archive', ({ archive }) => archive.write([anArchivedPet({ id: 1n })])],
])('a MongoDB client confirms the primary in its first command only: it calls %s', async (_, call) => {
  const { url } = await emptyDatabase();
  const { ports, commands } = await open(url);
  await call(ports);

  expect(commands.map(isConfirmation)).toStrictEqual(commands.map((_command, index) => index === 0));
});
