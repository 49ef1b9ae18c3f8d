import { type Document, Double } from 'mongodb';
import { describe, expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { failPoint } from '../../support/fail-point.ts';
import { databasePool, freshDatabase } from '../../support/mongo-database.ts';
import { startMongo } from '../../support/mongodb.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

const emptyDatabase = databasePool(() => mongo!);

type Database = Awaited<ReturnType<typeof freshDatabase>>;

/** Everything that a migration creates. */
async function schemaOf({ db }: Database) {
  const infos = await db.listCollections({}, { nameOnly: false }).toArray();
  const names = infos.map(({ name }) => name).toSorted();
  const indexes = names.map(async (name) => [name, await db.collection(name).indexes()]);
  return {
    collections: names,
    validators: Object.fromEntries(infos.map(({ name, options }) => [name, options?.['validator']])),
    indexes: Object.fromEntries(await Promise.all(indexes)),
    versions: await db.collection('schema').find().toArray(),
  };
}

const ID_INDEX = { v: 2, name: '_id_', key: { _id: 1 } };
const SCHEMA = {
  collections: ['api_keys', 'pets', 'rate_limits', 'schema'],
  validators: {
    api_keys: {
      $jsonSchema: {
        bsonType: 'object',
        required: ['_id', 'label', 'digest', 'scopes', 'createdAt'],
        properties: {
          _id: { bsonType: 'string', pattern: '^[0-9a-f]{16}$' },
          label: { bsonType: 'string', minLength: 1, maxLength: 64 },
          digest: { bsonType: 'string', pattern: '^[0-9a-f]{64}$' },
          scopes: {
            bsonType: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { enum: ['pets:read', 'pets:write'] },
          },
          createdAt: { bsonType: 'date' },
          expiresAt: { bsonType: 'date' },
          rateLimit: {
            bsonType: 'object',
            required: ['requests', 'seconds'],
            properties: {
              requests: { bsonType: 'int', minimum: 1, maximum: 1_000_000_000 },
              seconds: { bsonType: 'int', minimum: 1, maximum: 86_400 },
            },
          },
          revokedAt: { bsonType: 'date' },
          lastUsedAt: { bsonType: 'date' },
        },
      },
    },
    pets: {
      $jsonSchema: {
        bsonType: 'object',
        anyOf: [
          {
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
          { required: ['upTo'], properties: { _id: { bsonType: 'double' }, upTo: { bsonType: 'long' } } },
        ],
      },
    },
    rate_limits: {
      $jsonSchema: {
        bsonType: 'object',
        required: ['key', 'points', 'expire'],
        properties: {
          key: { bsonType: 'string' },
          points: { bsonType: ['int', 'long'] },
          expire: { bsonType: 'date' },
        },
      },
    },
    schema: undefined,
  },
  indexes: {
    api_keys: [ID_INDEX],
    pets: [
      ID_INDEX,
      { v: 2, name: 'status_1__id_1', key: { status: 1, _id: 1 } },
      {
        v: 2,
        name: 'idem.k_1',
        key: { 'idem.k': 1 },
        unique: true,
        partialFilterExpression: { 'idem.k': { $exists: true } },
      },
    ],
    rate_limits: [
      ID_INDEX,
      { v: 2, name: 'key_1', key: { key: 1 }, unique: true },
      { v: 2, name: 'expire_-1', key: { expire: -1 }, expireAfterSeconds: 0 },
    ],
    schema: [ID_INDEX],
  },
  versions: [{ _id: 'petstore', version: 4 }],
};

describe.skipIf(mongo === undefined)(`migrating MongoDB${leftOut}`, () => {
  it('creates collections, validators, indexes and the version', async () => {
    const database = await freshDatabase(mongo!, { migrated: false });

    expect(await migrate(database.url)).toStrictEqual({
      database: database.db.databaseName,
      from: undefined,
      to: 4,
    });

    expect(await schemaOf(database)).toStrictEqual(SCHEMA);
  });

  it('changes nothing when run again', async () => {
    const database = await freshDatabase(mongo!);
    const before = await schemaOf(database);

    expect(await migrate(database.url)).toMatchObject({ from: 4, to: 4 });

    expect(await schemaOf(database)).toStrictEqual(before);
  });

  it('can run ten times at once', async () => {
    const database = await freshDatabase(mongo!, { migrated: false });

    const done = await Promise.all(Array.from({ length: 10 }, () => migrate(database.url)));

    expect(done.map(({ to }) => to)).toStrictEqual(Array.from({ length: 10 }, () => 4));
    expect(await schemaOf(database)).toStrictEqual(SCHEMA);
  });

  it('can run while pets are added', async () => {
    const database = await freshDatabase(mongo!);
    const { pets, close } = await openMongoStorage(database.url, { autoMigrate: false });

    const inserting = Promise.all(
      Array.from({ length: 100 }, (_, n) => pets.insert(newPet({ name: `pet ${n}`, categoryId: 7n }))),
    );
    await migrate(database.url);
    const stored = await inserting;
    await close();

    expect(new Set(stored.map(({ id }) => id)).size).toBe(100);
  });

  it('keeps the pets that are there, and new ones get greater ids', async () => {
    const database = await freshDatabase(mongo!, { migrated: false });
    const there = { name: 'Tom', categoryId: 8n, status: 'sold' };
    await database.pets.insertMany([7n, 2n ** 40n, 3n].map((_id) => ({ _id, ...there })));

    await migrate(database.url);

    expect(await schemaOf(database)).toStrictEqual(SCHEMA);
    expect(await database.pets.countDocuments(there)).toBe(3);
    const { pets, close } = await openMongoStorage(database.url, { autoMigrate: false });
    onTestFinished(close);
    expect((await pets.insert(newPet({ name: 'Rex', categoryId: 7n }))).id).toBe(2n ** 40n + 1n);
  });

  it('restores what was removed', async () => {
    const database = await freshDatabase(mongo!);
    const { db } = database;
    for (const name of ['pets', 'rate_limits']) await db.collection(name).dropIndexes();
    await db.dropCollection('api_keys');
    for (const name of ['pets', 'rate_limits']) await db.command({ collMod: name, validator: {} });

    await migrate(database.url);

    expect(await schemaOf(database)).toStrictEqual(SCHEMA);
  });

  it.each([
    [3, 'a build that was never released made it: export it with that build, then import'],
    [5, 'run a newer build of petstore'],
  ])('leaves a schema of version %i alone', async (version, advice) => {
    const database = await freshDatabase(mongo!);
    await database.db.collection('schema').updateOne({}, { $set: { version } });
    await database.db.command({ collMod: 'pets', validator: {} });
    const before = await schemaOf(database);

    await expect(migrate(database.url)).rejects.toThrow(
      new StorageSetupError(
        `the database "${database.db.databaseName}" has schema version ${version}, this build needs 4; ${advice}`,
      ),
    );
    expect(await schemaOf(database)).toStrictEqual(before);
  });

  it('refuses a view in the place of a collection', async () => {
    const { url, db } = await freshDatabase(mongo!, { migrated: false });
    await db.createCollection('pets', { viewOn: 'animals' });

    await expect(migrate(url)).rejects.toMatchObject({
      kind: 'storage-setup',
      message: expect.stringMatching(/^MongoDB at .+, database "test-.+": .*view/),
    });
  });

  it.each([
    { name: 'pets', what: 'pet' },
    { name: 'api_keys', what: 'API key' },
    { name: 'rate_limits', what: 'rate limit count' },
  ])('names a document that is not a valid $what', async ({ name, what }) => {
    const database = await freshDatabase(mongo!, { migrated: false });
    await database.db.collection<{ _id: unknown }>(name).insertOne({ _id: 'Rex' });

    await expect(migrate(database.url)).rejects.toThrow(
      new StorageSetupError(
        `the collection "${name}" of the database "${database.db.databaseName}" has a document ` +
          `that is not a valid ${what} (_id: "Rex"); repair or remove it, then migrate again`,
      ),
    );
    expect((await schemaOf(database)).versions).toStrictEqual([]);
  });
});

describe.skipIf(mongo === undefined)(`the validator${leftOut}`, () => {
  const pet = { _id: 1n, name: 'Rex', categoryId: 7n, status: 'sold' };
  const fence = { _id: new Double(7), upTo: 9n };

  it.each<readonly [string, Document & { _id: unknown }]>([
    ['a pet', pet],
    ['a reservation of ids', fence],
    ['a name of 255 astral characters', { ...pet, name: '\u{1f415}'.repeat(255) }],
    ['a further field', { ...pet, later: true }],
  ])('takes %s', async (_, document) => {
    const { db } = await emptyDatabase();

    await expect(db.collection<{ _id: unknown }>('pets').insertOne(document)).resolves.toBeDefined();
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
    ['an op that is a string', { ...pet, op: 'x' }],
    ['a reservation under the id of a pet', { ...fence, _id: 7n }],
    ['a reservation up to a double', { ...fence, upTo: new Double(9) }],
  ])('refuses %s', async (_, document) => {
    const { db } = await emptyDatabase();
    const pets = db.collection<{ _id: unknown }>('pets', { ignoreUndefined: true });

    await expect(pets.insertOne(document)).rejects.toMatchObject({ code: 121 });
  });
});

describe.skipIf(mongo === undefined)(`the validator of keys${leftOut}`, () => {
  const at = new Date(1_797_000_000_001);
  const key = {
    _id: '0123456789abcdef',
    label: 'tom',
    digest: '0123456789abcdef'.repeat(4),
    scopes: ['pets:read'],
    createdAt: at,
  };
  const whole = {
    ...key,
    scopes: ['pets:read', 'pets:write'],
    expiresAt: at,
    rateLimit: { requests: 1_000_000_000, seconds: 86_400 },
    revokedAt: at,
    lastUsedAt: at,
  };

  it.each([
    ['a key', key],
    ['a key with everything', whole],
    ['a label of 64 astral characters', { ...key, label: '\u{1f415}'.repeat(64) }],
    ['a further field', { ...key, later: true }],
  ])('takes %s', async (_, document) => {
    const { db } = await emptyDatabase();

    await expect(db.collection<{ _id: string }>('api_keys').insertOne(document)).resolves.toBeDefined();
  });

  it.each<readonly [string, Document & { _id: string }]>([
    ['an _id that is not an id', { ...key, _id: 'tom' }],
    ['an _id in upper case', { ...key, _id: key._id.toUpperCase() }],
    ['no label', { ...key, label: undefined }],
    ['a label of 65 characters', { ...key, label: 'x'.repeat(65) }],
    ['no digest', { ...key, digest: undefined }],
    ['a short digest', { ...key, digest: key.digest.slice(1) }],
    ['no scope', { ...key, scopes: [] }],
    ['a scope twice', { ...key, scopes: ['pets:read', 'pets:read'] }],
    ['another scope', { ...key, scopes: ['pets:delete'] }],
    ['a scope that is not a list', { ...key, scopes: 'pets:read' }],
    ['no time of creation', { ...key, createdAt: undefined }],
    ...(['createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'] as const).flatMap((field) => [
      [`${field} as a string`, { ...whole, [field]: at.toISOString() }] as const,
      [`${field} as a number`, { ...whole, [field]: at.getTime() }] as const,
      [`${field} as null`, { ...whole, [field]: null }] as const,
    ]),
    ['a limit of no requests', { ...whole, rateLimit: { requests: 0, seconds: 1 } }],
    ['a limit of too many requests', { ...whole, rateLimit: { requests: 1_000_000_001, seconds: 1 } }],
    ['a limit of too many seconds', { ...whole, rateLimit: { requests: 1, seconds: 86_401 } }],
    ['half a request', { ...whole, rateLimit: { requests: 1.5, seconds: 1 } }],
    ['half a limit', { ...whole, rateLimit: { requests: 1 } }],
  ])('refuses %s', async (_, document) => {
    const { db } = await emptyDatabase();
    const keys = db.collection<{ _id: string }>('api_keys', { ignoreUndefined: true });

    await expect(keys.insertOne(document)).rejects.toMatchObject({ code: 121 });
  });
});

describe.skipIf(mongo === undefined)(`the validator of rate limit counts${leftOut}`, () => {
  it.each([
    ['an end that is a string', { key: 'k', points: 1, expire: '2026-11-21' }],
    ['no end', { key: 'k', points: 1, expire: null }],
    ['no key', { points: 1, expire: new Date() }],
  ])('refuses %s', async (_, document) => {
    const { db } = await emptyDatabase();

    await expect(db.collection('rate_limits').insertOne(document)).rejects.toMatchObject({ code: 121 });
  });
});

describe.skipIf(mongo === undefined)(`two concurrent migrations${leftOut}`, () => {
  it('both finish, although one waits while the other builds an index', async () => {
    const INDEX_BUILD = 'hangAfterStartingIndexBuild';
    // A separate server: the fail point affects all its clients.
    const server = await startMongo({ setParameters: { enableTestCommands: 1 } });
    onTestFinished(() => server.stop());
    const database = await freshDatabase(server);
    const { url, db, pets } = database;
    await pets.insertOne({ _id: 1n, name: 'Rex', categoryId: 8n, status: 'sold' });
    await pets.dropIndex('idem.k_1');
    const disable = await failPoint(db, INDEX_BUILD, 'alwaysOn');
    const failed = async () => (await db.command({ serverStatus: 1 }))['metrics'].commands.collMod.failed;
    const before = await failed();

    const first = migrate(url);
    const wait = { waitForFailPoint: INDEX_BUILD, timesEntered: 1, maxTimeMS: 10_000 };
    await db.client.db('admin').command(wait);
    const second = migrate(url);
    await expect.poll(failed).toBeGreaterThan(before);
    await disable();

    for (const { to } of await Promise.all([first, second])) expect(to).toBe(4);
    expect(await schemaOf(database)).toStrictEqual(SCHEMA);
  });
});
