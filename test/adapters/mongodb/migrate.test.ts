import { Socket } from 'node:net';
import { type Document, Double } from 'mongodb';
import { describe, expect, it, vi } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { openMongoArchive, openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import {
  databasePool,
  findingsIn,
  freshDatabase,
  openService,
  throughProxy,
} from '../../support/mongo-database.ts';
import { numbers } from '../../support/numbers.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { aPet } from '../../support/pets.ts';

const emptyDatabase = databasePool(() => mongo!);

type Database = Awaited<ReturnType<typeof freshDatabase>>;

/** Everything that a migration creates: the collections, validators, indexes and the schema version. */
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
/** The indexes that a migration creates, by collection. */
const INDEXES = {
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
};

describe.skipIf(mongo === undefined)(`a migration of MongoDB${noMongo}`, () => {
  it('creates each collection once, even when ten migrations run at the same time', async () => {
    const [database, newDatabase] = [await emptyDatabase(), await freshDatabase(mongo!, { migrated: false })];
    const schema = await schemaOf(database);
    expect(await migrate(database.url)).toStrictEqual({ database: database.db.databaseName, from: 4, to: 4 });
    using socketTimeouts = vi.spyOn(Socket.prototype, 'setTimeout');
    const results = await Promise.all(numbers(10).map(() => migrate(newDatabase.url)));
    // A service closes a socket after 8 s without data. A migration does not, because the build of an index
    // may take longer.
    expect(socketTimeouts).not.toHaveBeenCalledWith(8_000);

    // The last test of this file checks which documents the validators accept.
    expect(Object.keys(schema.validators)).toStrictEqual(expect.arrayContaining(Object.keys(INDEXES)));
    expect(schema).toMatchObject({ indexes: INDEXES, versions: [{ _id: 'petstore', version: 4 }] });
    expect(results.map(({ to }) => to)).toStrictEqual(numbers(10).map(() => 4));
    expect(await schemaOf(database)).toStrictEqual(schema);
    expect(await schemaOf(newDatabase)).toStrictEqual(schema);
  });

  it('keeps the existing pets, and the next inserted pet is assigned a greater id', async () => {
    const database = await freshDatabase(mongo!, { migrated: false });
    const existingPet = { name: 'Tom', categoryId: 8n, status: 'sold' };
    await database.pets.insertMany([7n, 2n ** 40n, 3n].map((_id) => ({ _id, ...existingPet })));

    expect(await migrate(database.url)).toMatchObject({ from: undefined, to: 4 });

    expect(await database.pets.countDocuments(existingPet)).toBe(3);
    const { pets } = await openService(database.url);
    expect((await pets.insert(aPet())).id).toBe(2n ** 40n + 1n);
  });

  it('restores a removed collection and removed validators', async () => {
    const database = await freshDatabase(mongo!);
    const { db } = database;
    const before = await schemaOf(database);
    await db.dropCollection('api_keys');
    for (const name of ['pets', 'rate_limits']) await db.command({ collMod: name, validator: {} });

    await migrate(database.url);

    expect(await schemaOf(database)).toStrictEqual(before);
  });

  it.each([
    [3, 'no release has that version: export it with the build that made it, then import'],
    [5, 'run a newer build of petstore'],
  ])('refuses a schema of version %i, and changes nothing in it', async (version, advice) => {
    const database = await freshDatabase(mongo!);
    await database.db.collection('schema').updateOne({}, { $set: { version } });
    await database.db.command({ collMod: 'pets', validator: {} });
    const before = await schemaOf(database);
    const { url } = database;

    const refusal = new StorageSetupError(
      `the database "${database.db.databaseName}" has schema version ${version}, this build needs 4; ${advice}`,
    );
    await expect(migrate(url)).rejects.toThrow(refusal);
    await expect(openService(url)).rejects.toThrow(refusal);
    await expect(openMongoStorage(url, { autoMigrate: true })).rejects.toThrow(refusal);
    await expect(openMongoArchive(url)).rejects.toThrow(refusal);
    expect(await schemaOf(database)).toStrictEqual(before);
  });

  // A step is a numbered change of the schema. The fields stand for a step that this build does not know.
  it.each([{ step: 1 }, { begun: 1 }])('changes no schema of a later build: %j', async (laterFields) => {
    const database = await freshDatabase(mongo!);
    const { url, db, pets } = database;
    await db.collection('schema').updateOne({}, { $set: laterFields });
    await db.command({ collMod: 'pets', validator: { name: { $type: 'string' } } });
    await pets.createIndex({ name: 1 }, { unique: true }, {});
    await pets.insertOne({ _id: 0n, name: 'Rex', categoryId: 7n, status: 'sold' });
    const before = await schemaOf(database);

    const note = 'a later build has made or begun step 1, and nothing was changed';
    expect(await migrate(url)).toStrictEqual({ database: db.databaseName, from: 4, to: 4, note });
    const { probe } = await openService(url);
    await probe.check();
    expect(await findingsIn(url)).toStrictEqual([]);
    expect(await schemaOf(database)).toStrictEqual(before);
    // The probe reports a missing index that this build needs, even if a later build has changed the schema.
    await pets.dropIndex('idem.k_1');
    await expect(probe.check()).rejects.toThrow('lacks the index "idem.k_1"');
  });

  it('rejects if another program removes a validator during the migration, and succeeds when it is run again', async () => {
    const { url: direct, db } = await freshDatabase(mongo!, { migrated: false });
    const { url, proxy } = await throughProxy(direct);
    const removeValidator = () => db.command({ collMod: 'pets', validator: {} });
    void proxy.hold('createIndexes').then(async (forward) => removeValidator().then(forward));

    const message = 'the collection "pets" lacks its validator; run: petstore migrate';
    await expect(migrate(url)).rejects.toThrow(message);
    expect(await migrate(url)).toMatchObject({ from: undefined, to: 4 });
  });

  it.each([
    { name: 'pets', kind: 'pet', when: 'existed before' },
    { name: 'api_keys', kind: 'API key', when: 'existed before' },
    { name: 'rate_limits', kind: 'rate limit count', when: 'existed before' },
    { name: 'pets', kind: 'pet', when: 'was added during the migration' },
  ])('rejects, and names the _id of an invalid $kind that $when', async ({ name, kind, when }) => {
    const database = await freshDatabase(mongo!, { migrated: false });
    const { url, proxy } = await throughProxy(database.url);
    const insert = () => database.db.collection<{ _id: unknown }>(name).insertOne({ _id: 'Rex' });
    const existedBefore = when === 'existed before';
    if (existedBefore) await insert();
    else void proxy.hold('create').then(async (forward) => insert().then(forward));

    await expect(migrate(url)).rejects.toThrow(
      new StorageSetupError(
        `the collection "${name}" of the database "${database.db.databaseName}" has a document ` +
          `that is not a valid ${kind} (_id: "Rex"); repair or remove it, then migrate again`,
      ),
    );
    // A document that existed before is found before the migration changes anything. A document that was added during
    // the migration is found after all four collections were created, but before the schema has a version.
    const [collections, versions] = existedBefore ? [[name], []] : [{ length: 4 }, [{ step: 0, begun: 0 }]];
    expect(await schemaOf(database)).toMatchObject({ collections, versions });
    await expect(openService(database.url)).rejects.toThrow('has no petstore schema');
  });
});

const date = new Date(1_797_000_000_001);
const pet = { _id: 1n, name: 'Rex', categoryId: 7n, status: 'sold' };
/** A fence is a document that is not a pet and reserves ids: here the ids from 7 to 9. */
const fence = { _id: new Double(7), upTo: 9n };
const key = {
  _id: '0123456789abcdef',
  label: 'tom',
  digest: '0123456789abcdef'.repeat(4),
  scopes: ['pets:read'],
  createdAt: date,
};
const fullKey = {
  ...key,
  scopes: ['pets:read', 'pets:write'],
  expiresAt: date,
  rateLimit: { requests: 1_000_000_000, seconds: 86_400 },
  revokedAt: date,
  lastUsedAt: date,
};
const storedCount = { _id: 'tom', key: 'k', points: 1, expire: date };
/** A document, and what the document has or is. */
type Row = readonly [collection: string, description: string, document: Document & { _id: unknown }];

/** Documents that the validators accept. */
const VALID_ROWS: readonly Row[] = [
  ['pets', 'a pet', pet],
  ['pets', 'a fence', fence],
  ['pets', 'a name of 255 emoji', { ...pet, name: '\u{1f415}'.repeat(255) }],
  ['pets', 'a field that this build does not know', { ...pet, later: true }],
  ['api_keys', 'a key', key],
  ['api_keys', 'a key with all fields', fullKey],
  ['api_keys', 'a label of 64 emoji', { ...key, label: '\u{1f415}'.repeat(64) }],
  ['api_keys', 'a field that this build does not know', { ...key, later: true }],
  ['rate_limits', 'a count', storedCount],
];
/** Documents that the validators refuse. */
const INVALID_ROWS: readonly Row[] = [
  ['pets', 'a categoryId that is a double', { ...pet, categoryId: 7.5 }],
  ['pets', 'an _id that is an int32', { ...pet, _id: 1 }],
  ['pets', 'an _id of 0', { ...pet, _id: 0n }],
  ['pets', 'an _id beyond 2^53 - 1', { ...pet, _id: 2n ** 53n }],
  ['pets', 'no name', { ...pet, name: undefined }],
  ['pets', 'an empty name', { ...pet, name: '' }],
  ['pets', 'a name of 256 characters', { ...pet, name: 'x'.repeat(256) }],
  ['pets', 'an unknown status', { ...pet, status: 'gone' }],
  ['pets', 'an "op" that is a string', { ...pet, op: 'x' }],
  ['pets', 'an idempotency key without a fingerprint', { ...pet, idem: { k: 'x' } }],
  ['pets', 'a fence whose _id is a long, like the _id of a pet', { ...fence, _id: 7n }],
  ['pets', 'a fence whose field "upTo" is a double', { ...fence, upTo: new Double(9) }],
  ['api_keys', 'an _id that is not 16 hex digits', { ...key, _id: 'tom' }],
  ['api_keys', 'a label of 65 characters', { ...key, label: 'x'.repeat(65) }],
  ['api_keys', 'no digest', { ...key, digest: undefined }],
  ['api_keys', 'a short digest', { ...key, digest: key.digest.slice(1) }],
  ['api_keys', 'no scope', { ...key, scopes: [] }],
  ['api_keys', 'a scope twice', { ...key, scopes: ['pets:read', 'pets:read'] }],
  ['api_keys', 'an unknown scope', { ...key, scopes: ['pets:delete'] }],
  ['api_keys', 'scopes that are not in a list', { ...key, scopes: 'pets:read' }],
  ...['createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'].map(
    (field): Row => ['api_keys', `${field} as a string`, { ...fullKey, [field]: date.toISOString() }],
  ),
  ['api_keys', 'a limit of 0 requests', { ...key, rateLimit: { requests: 0, seconds: 1 } }],
  ['api_keys', 'a limit over 10^9 requests', { ...key, rateLimit: { requests: 1_000_000_001, seconds: 1 } }],
  ['api_keys', 'a limit over 86,400 seconds', { ...key, rateLimit: { requests: 1, seconds: 86_401 } }],
  ['rate_limits', 'an "expire" that is a string', { ...storedCount, expire: '2026-11-21' }],
  ['rate_limits', 'an "expire" that is null', { ...storedCount, expire: null }],
  ['rate_limits', 'no key', { ...storedCount, key: undefined }],
  ['rate_limits', 'points that are not an integer', { ...storedCount, points: 0.5 }],
];

it.skipIf(mongo === undefined)(
  `the validators of MongoDB accept valid documents, and refuse damaged documents${noMongo}`,
  async () => {
    const { db } = await emptyDatabase();
    /** Empties the collection of the row, and inserts the document of the row. */
    const insert = async ([name, , document]: Row) => {
      const collection = db.collection<{ _id: unknown }>(name, { ignoreUndefined: true });
      await collection.deleteMany({});
      await collection.insertOne(document);
    };
    for (const row of VALID_ROWS) await expect(insert(row), `${row[0]}: ${row[1]}`).resolves.toBeUndefined();
    for (const row of INVALID_ROWS) {
      // The code 121 is DocumentValidationFailure.
      await expect(insert(row), `${row[0]}: ${row[1]}`).rejects.toMatchObject({ code: 121 });
    }
  },
);
