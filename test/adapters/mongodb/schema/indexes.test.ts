import { type CreateIndexesOptions, type Db, type Document, type IndexSpecification } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { migrate } from '../../../../src/adapters/mongodb/migrate.ts';
import { openMongoArchive, openMongoStorage } from '../../../../src/adapters/mongodb/open.ts';
import { StorageUnavailable } from '../../../../src/application/ports/storage-errors.ts';
import { idempotencyFor } from '../../../support/archived-pets.ts';
import {
  databasePool,
  freshDatabase,
  openRepository,
  openService,
  refusal,
} from '../../../support/mongo-database.ts';
import { aPet } from '../../../support/pets.ts';
import { leftOut, mongo } from '../../../support/shared-mongo.ts';

const MIGRATE = 'run: petstore migrate';
const pet = { name: 'Rex', categoryId: 7n, status: 'sold' };

type Needed = { readonly collection: string; readonly index: string };
const IDEM = { collection: 'pets', index: 'idem.k_1' };
const STATUS = { collection: 'pets', index: 'status_1__id_1' };
const COUNTS = { collection: 'rate_limits', index: 'key_1' };

type Other = readonly [key: IndexSpecification, options: CreateIndexesOptions];
const PARTIAL = { partialFilterExpression: { 'idem.k': { $exists: true } } };
const WHOLE = { status: 1, _id: 1 } as const;

/** Indexes that have the planned name or definition but do not fit. */
const IN_THE_WAY: readonly (readonly [what: string, Needed, Other])[] = [
  ['of all pets', IDEM, [{ 'idem.k': 1 }, { unique: true, sparse: true }]],
  ['hidden', IDEM, [{ 'idem.k': 1 }, { unique: true, ...PARTIAL, hidden: true }]],
  ['the other way round', STATUS, [{ _id: 1, status: 1 }, {}]],
  ['descending', STATUS, [{ status: 1, _id: -1 }, {}]],
  ['partial', STATUS, [WHOLE, { partialFilterExpression: { status: 'sold' } }]],
  ['sparse', STATUS, [WHOLE, { sparse: true }]],
  ['with a collation', STATUS, [WHOLE, { collation: { locale: 'de' } }]],
  ['under another name', STATUS, [WHOLE, { name: 'mine' }]],
  ['not unique', COUNTS, [{ key: 1 }, {}]],
];

/** For tests that restore the indexes. */
const soundDatabase = databasePool(() => mongo!);

async function damaged({ collection, index }: Needed, other?: Other, open = soundDatabase) {
  const database = await open();
  await database.db.collection(collection).dropIndex(index);
  if (other !== undefined) {
    await database.db.collection(collection).createIndex(other[0], { name: index, ...other[1] }, {});
  }
  return database;
}

async function indexesOf(db: Db) {
  return [await db.collection('pets').indexes(), await db.collection('rate_limits').indexes()];
}

let planned: ReturnType<typeof indexesOf> | undefined;

/** The indexes of a database that has just been migrated, in any order. */
async function expectPlanned(db: Db) {
  planned ??= freshDatabase(mongo!).then((database) => indexesOf(database.db));
  const [pets = [], counts = []] = await planned;
  const [petsHere, countsHere] = await indexesOf(db);
  expect(petsHere).toHaveLength(pets.length);
  expect(petsHere).toStrictEqual(expect.arrayContaining(pets));
  expect(countsHere).toHaveLength(counts.length);
  expect(countsHere).toStrictEqual(expect.arrayContaining(counts));
}

describe.skipIf(mongo === undefined)(`a required index${leftOut}`, () => {
  it.each([IDEM, STATUS, COUNTS])('is checked at the start and by the probe: $index', async (needed) => {
    const { url, db } = await soundDatabase();
    const { probe } = await openService(url);
    await probe.check();

    await db.collection(needed.collection).dropIndex(needed.index);

    const problem =
      `in the database "${db.databaseName}" the collection "${needed.collection}" ` +
      `lacks the index "${needed.index}"; ${MIGRATE}`;
    expect(await refusal(openService(url))).toBe(problem);
    await expect(probe.check()).rejects.toThrow(new StorageUnavailable(problem));
    await migrate(url);
    await probe.check();
    await expectPlanned(db);
  });

  it.each(IN_THE_WAY)(
    'is refused when it is %s, with the command that mends it: %o',
    async (what, needed, index) => {
      const method = what === 'hidden' ? 'unhideIndex' : 'dropIndex';
      const { url, db } = await damaged(needed, index);
      const before = await indexesOf(db);
      const { name = needed.index } = index[1];

      const other = `has an index "${name}" with another definition`;
      const states: Readonly<Record<string, string>> = {
        hidden: `hides the index "${name}"`,
        'under another name': `has the index "mine" in the place of "${needed.index}"`,
      };
      const line =
        `in the database "${db.databaseName}" the collection "${needed.collection}" ${states[what] ?? other}; ` +
        `stop the services, run in mongosh: db.getCollection("${needed.collection}").${method}("${name}"); ` +
        `then ${MIGRATE}`;
      expect(await refusal(openService(url))).toBe(line);
      expect(await refusal(migrate(url))).toBe(line);
      expect(await indexesOf(db)).toStrictEqual(before);

      const unhidden = { name, hidden: false };
      if (method === 'unhideIndex') await db.command({ collMod: needed.collection, index: unhidden });
      else await db.collection(needed.collection).dropIndex(name);
      await Promise.all([migrate(url), migrate(url)]);
      await expectPlanned(db);
    },
  );

  it('may have another name if it is unique, and further options that decide nothing', async () => {
    const options = { name: 'mine', unique: true, ...PARTIAL, storageEngine: { wiredTiger: {} } };
    const { url, db } = await damaged(IDEM, [{ 'idem.k': 1 }, options], () => freshDatabase(mongo!));
    const before = await indexesOf(db);

    await migrate(url);
    expect(await indexesOf(db)).toStrictEqual(before);
    await (await openService(url)).close();
  });

  it('is reported together with all other missing ones, and created with autoMigrate', async () => {
    const { url, db } = await soundDatabase();
    const { repository, sent } = await openRepository(url, 60_000);
    for (const name of ['pets', 'rate_limits']) await db.collection(name).dropIndexes();
    const before = sent('find');

    // At once: no retry can succeed.
    await expect(repository.list({ limit: 10, status: 'sold' })).rejects.toThrow(StorageUnavailable);
    expect(sent('find')).toBe(before + 1);
    expect(await repository.list({ limit: 10 })).toStrictEqual([]);
    // A command needs none.
    const command = await openMongoArchive(url);
    await command.close();
    await expect(repository.insertOnce(aPet(), idempotencyFor('a'))).rejects.toThrow('lacks the index');
    expect(await refusal(openService(url))).toBe(
      `in the database "${db.databaseName}" the collection "pets" lacks the index "status_1__id_1", ` +
        'the collection "pets" lacks the index "idem.k_1", ' +
        `the collection "rate_limits" lacks the index "key_1"; ${MIGRATE}`,
    );
    const { close } = await openMongoStorage(url, { autoMigrate: true });
    await close();
    await expectPlanned(db);
  });

  it.each<readonly [string, Needed, Document, string]>([
    [
      'pets',
      IDEM,
      { ...pet, idem: { k: 'k', fp: 'f' } },
      '"idem.k"; keep the field "idem" only in the pet that the client was told of',
    ],
    [
      'rate limit counts',
      COUNTS,
      { key: 'k', points: 1, expire: new Date() },
      '"key"; run in mongosh: db.getCollection("rate_limits").deleteMany({})',
    ],
  ])('is not built over %s that share a value', async (_, needed, document, remedy) => {
    const { url, db } = await damaged(needed);
    const documents = db.collection<{ _id: bigint }>(needed.collection);
    await documents.insertMany([1n, 2n].map((_id) => ({ ...document, _id })));

    const line =
      `documents of the collection "${needed.collection}" of the database "${db.databaseName}" share a value of ` +
      `${remedy}, then migrate again`;
    expect(await refusal(migrate(url))).toBe(line);
    expect(await refusal(openMongoStorage(url, { autoMigrate: true }))).toBe(line);
    await documents.deleteOne({ _id: 2n });
    await migrate(url);
    await expectPlanned(db);
  });
});
