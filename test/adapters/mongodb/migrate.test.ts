import { describe, expect, it } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { StorageSetupError } from '../../../src/application/errors.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { sharedMongo, startMongo } from '../../support/mongodb.ts';

const mongo = await sharedMongo();
const leftOut = mongo === undefined ? ' (left out: no server)' : '';

type Database = Awaited<ReturnType<typeof freshDatabase>>;

/** All that a migration makes. */
async function schemaOf({ db, counters }: Database) {
  const infos = await db.listCollections({ name: 'pets' }, { nameOnly: false }).toArray();
  return {
    collections: (await db.listCollections({}, { nameOnly: true }).toArray())
      .map(({ name }) => name)
      .toSorted(),
    validator: infos[0]?.options?.['validator'],
    indexes: (await db.collection('pets').indexes()).map(({ name, key }) => ({ name, key })),
    counters: await counters.find().toArray(),
    versions: await db.collection('schema').find().toArray(),
  };
}

const INDEXES = [
  { name: '_id_', key: { _id: 1 } },
  { name: 'status_1__id_1', key: { status: 1, _id: 1 } },
  { name: 'idem.k_1', key: { 'idem.k': 1 } },
];
const VERSIONS = [{ _id: 'petstore', version: 2 }];

describe.skipIf(mongo === undefined)(`migrating MongoDB${leftOut}`, () => {
  it('makes collections, validator, index, counter and version', async () => {
    const database = await freshDatabase(mongo!, { migrated: false });

    expect(await migrate(database.url)).toStrictEqual({
      database: database.db.databaseName,
      from: undefined,
      to: 2,
    });

    expect(await schemaOf(database)).toStrictEqual({
      collections: ['counters', 'pets', 'schema'],
      validator: {
        $jsonSchema: {
          bsonType: 'object',
          required: ['_id', 'name', 'categoryId', 'status'],
          properties: {
            _id: { bsonType: 'long', minimum: 1, maximum: 9_007_199_254_740_991n },
            name: { bsonType: 'string', minLength: 1, maxLength: 255 },
            categoryId: { bsonType: 'long' },
            status: { enum: ['available', 'pending', 'sold'] },
            op: { bsonType: 'binData' },
            idem: {
              bsonType: 'object',
              required: ['k', 'fp'],
              properties: { k: { bsonType: 'string' }, fp: { bsonType: 'string' } },
            },
          },
        },
      },
      indexes: INDEXES,
      counters: [{ _id: 'pets', last: 0n }],
      versions: VERSIONS,
    });
  });

  it('waits for a majority, not for every member, wherever there are several', async () => {
    const { url, db } = await freshDatabase(mongo!, { migrated: false });
    await db.command({ profile: 2 });

    await migrate(url);

    await db.command({ profile: 0 });
    // The profiler shows the options of these two commands; an update is shown without.
    const [create, index] = await db
      .collection('system.profile')
      .find({ 'command.writeConcern': { $exists: true } }, { sort: { ts: 1 } })
      .toArray();
    const writeConcern = { w: 'majority', j: true, wtimeout: 5_000 };
    expect(create?.['command']).toMatchObject({ create: 'pets', writeConcern });
    expect(index?.['command']).toMatchObject({
      createIndexes: 'pets',
      commitQuorum: 'majority',
      writeConcern,
    });
  });

  it('changes nothing the second time', async () => {
    const database = await freshDatabase(mongo!);
    const before = await schemaOf(database);

    expect(await migrate(database.url)).toMatchObject({ from: 2, to: 2 });

    expect(await schemaOf(database)).toStrictEqual(before);
  });

  it('may be done from ten places at once', async () => {
    const database = await freshDatabase(mongo!, { migrated: false });

    const done = await Promise.all(Array.from({ length: 10 }, () => migrate(database.url)));

    expect(done.map(({ to }) => to)).toStrictEqual(Array.from({ length: 10 }, () => 2));
    const schema = await schemaOf(database);
    expect(schema.validator).toBeDefined();
    expect(schema).toMatchObject({
      indexes: INDEXES,
      counters: [{ _id: 'pets', last: 0n }],
      versions: VERSIONS,
    });
  });

  it('may be done while pets are added', async () => {
    const database = await freshDatabase(mongo!);
    const { pets, close } = await openMongoStorage(database.url, { autoMigrate: false });

    const inserting = Promise.all(
      Array.from({ length: 100 }, (_, n) => pets.insert(newPet({ name: `pet ${n}`, categoryId: 7n }))),
    );
    await migrate(database.url);
    const stored = await inserting;
    await close();

    expect(new Set(stored.map(({ id }) => id)).size).toBe(100);
    expect(await database.counters.find().toArray()).toStrictEqual([{ _id: 'pets', last: 100n }]);
  });

  it('begins the counter at the highest id of the pets that are there', async () => {
    const database = await freshDatabase(mongo!, { migrated: false });
    const there = { name: 'Tom', categoryId: 8n, status: 'sold' };
    await database.pets.insertMany([7n, 2n ** 40n, 3n].map((_id) => ({ _id, ...there })));

    await migrate(database.url);

    const { counters, indexes, validator } = await schemaOf(database);
    expect(counters).toStrictEqual([{ _id: 'pets', last: 2n ** 40n }]);
    expect(indexes).toStrictEqual(INDEXES);
    expect(validator).toBeDefined();
    expect(await database.pets.countDocuments(there)).toBe(3);
  });

  it('never lowers the counter', async () => {
    const database = await freshDatabase(mongo!);
    await database.counters.updateOne({ _id: 'pets' }, { $set: { last: 41n } });

    await migrate(database.url);

    expect(await database.counters.find().toArray()).toStrictEqual([{ _id: 'pets', last: 41n }]);
  });

  it('mends what somebody has removed', async () => {
    const database = await freshDatabase(mongo!);
    const before = await schemaOf(database);
    await database.pets.dropIndexes();
    await database.counters.drop();
    await database.db.command({ collMod: 'pets', validator: {} });

    await migrate(database.url);

    expect(await schemaOf(database)).toStrictEqual(before);
  });

  it('brings an older schema up to date', async () => {
    const database = await freshDatabase(mongo!);
    const current = await schemaOf(database);
    // Version 1 had no idempotency.
    await database.pets.dropIndex('idem.k_1');
    await database.db.command({ collMod: 'pets', validator: {} });
    await database.db.collection('schema').updateOne({}, { $set: { version: 1 } });

    expect(await migrate(database.url)).toMatchObject({ from: 1, to: 2 });
    expect(await schemaOf(database)).toStrictEqual(current);
  });

  it('leaves a newer schema alone', async () => {
    const database = await freshDatabase(mongo!);
    await database.db.collection('schema').updateOne({}, { $set: { version: 3 } });
    await database.db.command({ collMod: 'pets', validator: {} });
    const before = await schemaOf(database);

    await expect(migrate(database.url)).rejects.toThrow(
      new StorageSetupError(
        `the database "${database.db.databaseName}" has schema version 3, this build needs 2; run a newer build of petstore`,
      ),
    );
    expect(await schemaOf(database)).toStrictEqual(before);
  });

  it('refuses a database with documents that are no pets, and says which', async () => {
    const database = await freshDatabase(mongo!, { migrated: false });
    await database.db.collection<{ _id: unknown }>('pets').insertOne({ _id: 'Rex' });

    const error = await migrate(database.url).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(StorageSetupError);
    expect(String(error)).toMatch(/document that is no pet \(_id: "Rex"\)/);
    expect((await schemaOf(database)).versions).toStrictEqual([]);
  });
});

describe.skipIf(mongo === undefined)(`the validator${leftOut}`, () => {
  const pet = { _id: 1n, name: 'Rex', categoryId: 7n, status: 'sold' };

  it.each([
    ['a pet', pet],
    ['a name of 255 astral characters', { ...pet, name: '\u{1f415}'.repeat(255) }],
    ['a further field', { ...pet, later: true }],
  ])('takes %s', async (_, document) => {
    const { db } = await freshDatabase(mongo!);

    await expect(db.collection<{ _id: bigint }>('pets').insertOne(document)).resolves.toBeDefined();
  });

  it.each([
    ['a double categoryId', { ...pet, categoryId: 7.5 }],
    ['an int categoryId', { ...pet, categoryId: 7 }],
    ['an int _id', { ...pet, _id: 1 }],
    ['an _id of 0', { ...pet, _id: 0n }],
    ['an _id beyond 2^53 - 1', { ...pet, _id: 2n ** 53n }],
    ['no name', { ...pet, name: undefined }],
    ['an empty name', { ...pet, name: '' }],
    ['a name of 256 characters', { ...pet, name: 'x'.repeat(256) }],
    ['another status', { ...pet, status: 'gone' }],
    ['no status', { ...pet, status: null }],
    ['an op that is text', { ...pet, op: 'x' }],
  ])('refuses %s', async (_, document) => {
    const { db } = await freshDatabase(mongo!);
    const pets = db.collection<{ _id: unknown }>('pets', { ignoreUndefined: true });

    await expect(pets.insertOne(document)).rejects.toMatchObject({ code: 121 });
  });
});

describe.skipIf(mongo === undefined)(`a MongoDB that is no replica set${leftOut}`, () => {
  it('can be migrated and used', async () => {
    const standalone = await startMongo({ setParameters: {}, replicaSet: false });
    try {
      const url = standalone.url('petstore');
      await migrate(url);
      await migrate(url);
      const { pets, probe, close } = await openMongoStorage(url, { autoMigrate: false });
      const stored = await pets.insert(newPet({ name: 'Rex', categoryId: 7n, status: 'sold' }));

      expect(await pets.list({ limit: 10, status: 'sold' })).toStrictEqual([stored]);
      await expect(probe.check()).resolves.toBeUndefined();
      await close();
    } finally {
      await standalone.stop();
    }
  }, 120_000);
});
