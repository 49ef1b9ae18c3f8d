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
import { sent } from '../../support/watch-commands.ts';

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

// In every test with MongoDB, watch-commands.ts fails each command that the journals of a majority do not acknowledge.
it.skipIf(mongo === undefined)('these tests watch every command of a storage in MongoDB', async () => {
  sent.clear();
  const { url, db } = await freshDatabase(mongo!, { migrated: false });
  await db.createCollection('pets');
  await migrate(url);
  const { pets, keys, archive } = (await open(url)).ports;

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

type Ports = Awaited<ReturnType<typeof open>>['ports'];

// confirmations.test.ts has the elections.
it.skipIf(mongo === undefined).each<readonly [string, (ports: Ports) => Promise<unknown>]>([
  ['insert', ({ pets }) => pets.insert(aPet())],
  ['findById', ({ pets }) => pets.findById(1n)],
  ['list', ({ pets }) => pets.list({ limit: 10 })],
  ['list with a status', ({ pets }) => pets.list({ limit: 10, status: 'sold' })],
  ['findById of a key', ({ keys }) => keys.findById(aKey().id)],
  ['list of keys', ({ keys }) => keys.list()],
  ['greatestId', ({ archive }) => archive.greatestId()],
  ['lastId', ({ archive }) => archive.lastId()],
  ['count', ({ archive }) => archive.count(1n)],
  ['read', ({ archive }) => archive.read(0n, 10)],
  ['write', ({ archive }) => archive.write([anArchivedPet({ id: 1n })])],
])('the first call of a MongoDB client confirms the primary: %s', async (_, call) => {
  const { url } = await emptyDatabase();
  const { ports, commands } = await open(url);
  await call(ports);

  expect(commands.map(isConfirmation)).toStrictEqual(commands.map((_command, index) => index === 0));
});
