import { expect, it } from 'vitest';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import { MongoPetArchive } from '../../../src/adapters/mongodb/pet-archive.ts';
import { MongoPetRepository } from '../../../src/adapters/mongodb/pet-repository.ts';
import { aKey } from '../../support/api-keys.ts';
import { anArchivedPet } from '../../support/archived-pets.ts';
import { databasePool, isConfirmation, openClient } from '../../support/mongo-database.ts';
import { aPet } from '../../support/pets.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

type Ports = Readonly<{ pets: MongoPetRepository; keys: MongoApiKeyRepository; archive: MongoPetArchive }>;

const emptyDatabase = databasePool(() => mongo!);

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
])(`the first call of a client of MongoDB confirms the primary: %s${leftOut}`, async (_, call) => {
  const { url } = await emptyDatabase();
  const { db, reads, commands } = await openClient(url);
  await call({
    pets: new MongoPetRepository(db, reads),
    keys: new MongoApiKeyRepository(db, reads),
    archive: new MongoPetArchive(db, reads),
  });

  expect(commands.map(isConfirmation)).toStrictEqual(commands.map((_command, index) => index === 0));
});
