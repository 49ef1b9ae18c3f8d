import {
  type CreateIndexesOptions,
  type Db,
  type Document,
  type IndexSpecification,
  MongoServerError,
} from 'mongodb';
import { describe, expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../../src/adapters/mongodb/migrate.ts';
import { openMongoArchive, openMongoStorage } from '../../../../src/adapters/mongodb/open.ts';
import { COLLECTIONS } from '../../../../src/adapters/mongodb/schema/collection-plans.ts';
import { createIndexes } from '../../../../src/adapters/mongodb/schema/indexes.ts';
import { StorageSetupError, StorageUnavailable } from '../../../../src/application/ports/storage-errors.ts';
import { idempotencyFor } from '../../../support/archived-pets.ts';
import { databasePool, freshDatabase, openRepository } from '../../../support/mongo-database.ts';
import { aPet } from '../../../support/pets.ts';
import { leftOut, mongo } from '../../../support/shared-mongo.ts';

const MIGRATE = 'run: petstore migrate';
const pet = { name: 'Rex', categoryId: 7n, status: 'sold' };

type Needed = { readonly collection: string; readonly index: string };
const IDEM = { collection: 'pets', index: 'idem.k_1' };
const STATUS = { collection: 'pets', index: 'status_1__id_1' };
const COUNTS = { collection: 'rate_limits', index: 'key_1' };

type Other = readonly [key: IndexSpecification, options: CreateIndexesOptions];
const PARTIAL = { 'idem.k': { $exists: true } };

/** Indexes that have the planned name or definition but do not fit, and can be dropped without risk. */
const REPLACEABLE: readonly (Needed & { readonly what: string; readonly other: Other })[] = [
  { ...IDEM, what: 'not unique', other: [{ 'idem.k': 1 }, { partialFilterExpression: PARTIAL }] },
  { ...IDEM, what: 'of another field', other: [{ 'idem.fp': 1 }, {}] },
  {
    ...IDEM,
    what: 'hidden',
    other: [{ 'idem.k': 1 }, { unique: true, partialFilterExpression: PARTIAL, hidden: true }],
  },
  { ...STATUS, what: 'the other way round', other: [{ _id: 1, status: 1 }, {}] },
  { ...STATUS, what: 'descending', other: [{ status: 1, _id: -1 }, {}] },
  {
    ...STATUS,
    what: 'partial',
    other: [{ status: 1, _id: 1 }, { partialFilterExpression: { status: 'sold' } }],
  },
  { ...STATUS, what: 'sparse', other: [{ status: 1, _id: 1 }, { sparse: true }] },
  { ...STATUS, what: 'hidden', other: [{ status: 1, _id: 1 }, { hidden: true }] },
  { ...STATUS, what: 'with a collation', other: [{ status: 1, _id: 1 }, { collation: { locale: 'de' } }] },
  { ...STATUS, what: 'under another name', other: [{ status: 1, _id: 1 }, { name: 'mine' }] },
  { ...COUNTS, what: 'not unique', other: [{ key: 1 }, {}] },
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

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof StorageSetupError)) throw new Error('should have been refused', { cause: error });
  return error.message;
}

describe.skipIf(mongo === undefined)(`a required index${leftOut}`, () => {
  it.each([IDEM, STATUS, COUNTS])('is checked at the start and by the probe: $index', async (needed) => {
    const { url, db } = await soundDatabase();
    const { probe, close } = await openMongoStorage(url, { autoMigrate: false });
    onTestFinished(close);
    await probe.check();

    await db.collection(needed.collection).dropIndex(needed.index);

    const problem =
      `in the database "${db.databaseName}" the collection "${needed.collection}" ` +
      `lacks the index "${needed.index}"; ${MIGRATE}`;
    expect(await refusal(openMongoStorage(url, { autoMigrate: false }))).toBe(problem);
    await expect(probe.check()).rejects.toThrow(new StorageUnavailable(problem));
    await migrate(url);
    await probe.check();
    await expectPlanned(db);
  });

  it.each(REPLACEABLE)('is replaced when it is $what: $index', async ({ other, what, ...needed }) => {
    const { url, db } = await damaged(needed, other);
    const state = what === 'under another name' ? 'lacks the index' : 'has an index';

    expect(await refusal(openMongoStorage(url, { autoMigrate: false }))).toContain(
      `the collection "${needed.collection}" ${state} "${needed.index}"`,
    );

    await Promise.all([migrate(url), migrate(url)]);
    await expectPlanned(db);
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
    expect(await refusal(openMongoStorage(url, { autoMigrate: false }))).toBe(
      `in the database "${db.databaseName}" the collection "pets" lacks the index "status_1__id_1", ` +
        'the collection "pets" lacks the index "idem.k_1", ' +
        `the collection "rate_limits" lacks the index "key_1"; ${MIGRATE}`,
    );
    const { close } = await openMongoStorage(url, { autoMigrate: true });
    await close();
    await expectPlanned(db);
  });

  it.each<readonly [string, Other, string]>([
    [
      'has another name',
      [{ 'idem.k': 1 }, { name: 'mine', unique: true, partialFilterExpression: PARTIAL }],
      'migrated',
    ],
    [
      'has another definition',
      [{ 'idem.k': 1 }, { unique: true, sparse: true }],
      'the index "idem.k_1" of the collection "pets" of the database "DATABASE" has another definition and rejects ' +
        'duplicates, which services could write while it is replaced; stop them, drop it, then migrate again',
    ],
  ])('stays if it is unique, though it %s', async (_, other, expected) => {
    const { url, db } = await damaged(IDEM, other, () => freshDatabase(mongo!));
    const before = await indexesOf(db);

    const outcome = await migrate(url).then(
      () => 'migrated',
      (error: unknown) => (error instanceof StorageSetupError ? error.message : error),
    );
    expect(outcome).toBe(expected.replace('DATABASE', db.databaseName));
    expect(await indexesOf(db)).toStrictEqual(before);
  });

  it('is not built over pets that share an idempotency key, and the message names ten groups', async () => {
    const { url, db, pets } = await damaged(IDEM);
    const shared = (id: number, k: number) => ({ _id: BigInt(id), ...pet, idem: { k: `${k}`, fp: 'f' } });
    // Each of ten keys twice, the first one three times, and two pets without a key.
    await pets.insertMany([
      ...Array.from({ length: 20 }, (_, n) => shared(n + 1, n % 10)),
      shared(2 ** 40, 0),
      { _id: 98n, ...pet },
      { _id: 99n, ...pet },
    ]);

    const line = (more: string) =>
      `in the database "${db.databaseName}" pets share an idempotency key (_id: 1, 11, 1099511627776; 2, 12; ` +
      `3, 13; 4, 14; 5, 15; 6, 16; 7, 17; 8, 18; 9, 19; 10, 20${more}); ` +
      'keep the field "idem" only in the pet that the client was told of, then migrate again';
    expect(await refusal(migrate(url))).toBe(line(''));
    expect(await refusal(openMongoStorage(url, { autoMigrate: true }))).toBe(line(''));
    await pets.insertMany([shared(50, 50), shared(51, 50)]);
    expect(await refusal(migrate(url))).toBe(line('; and more'));

    await pets.updateMany({ _id: { $gt: 10n } }, { $unset: { idem: 1 } });
    await migrate(url);
    await expectPlanned(db);
  });

  it('of rate limit counts is built after duplicates are deleted', async () => {
    const { url, db } = await damaged(COUNTS);
    const counts = db.collection('rate_limits');
    await counts.insertMany(
      [1, 2].map((points) => ({ key: 'k', points, expire: new Date(Date.now() + 60_000) })),
    );

    await migrate(url);

    await expectPlanned(db);
  });
});

describe('an index that is being created', () => {
  const [PETS] = COLLECTIONS;

  /** Creates the indexes of pets. @returns the names of the builds that succeed, and how many fail with the code */
  async function builds(code: number, failures: number, existing: readonly Document[] = []) {
    const built: string[] = [];
    let failed = 0;
    const createIndex = async (_key: Document, { name }: CreateIndexesOptions) => {
      if (failed === failures) return void built.push(name!);
      failed++;
      throw new MongoServerError({ message: 'index build failed', code });
    };
    const db = {
      databaseName: 'petstore',
      collection: () => ({ createIndex }),
      command: async () => ({ setName: 'rs', cursor: { firstBatch: existing } }),
    } as unknown as Db;
    await createIndexes(db, PETS!);
    return { built, failed };
  }

  it('is asked for, and so waited for, while another migration builds it', async () => {
    const spec = {
      v: 2,
      name: IDEM.index,
      key: { 'idem.k': 1 },
      unique: true,
      partialFilterExpression: PARTIAL,
    };
    const { built } = await builds(0, 0, [{ spec, buildUUID: 'one' }]);

    expect(built).toStrictEqual([STATUS.index, IDEM.index]);
  });

  it.each([
    ['IndexNotFound', 27],
    ['IndexBuildAborted', 276],
    ['Interrupted', 11_601],
  ])('is built again when another migration ends the build: %s', async (_, code) => {
    expect(await builds(code, 9)).toMatchObject({ failed: 9 });
    await expect(builds(code, 10)).rejects.toThrow(
      new StorageSetupError('other migrations keep interrupting this one; migrate again'),
    );
  });

  it('is not built again after another error', async () => {
    await expect(builds(13, 1)).rejects.toMatchObject({ message: 'index build failed', code: 13 });
  });
});
