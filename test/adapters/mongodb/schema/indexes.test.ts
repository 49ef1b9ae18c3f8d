import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { migrate } from '../../../../src/adapters/mongodb/migrate.ts';
import { openMongoArchive, openMongoStorage } from '../../../../src/adapters/mongodb/open.ts';
import { StorageUnavailable } from '../../../../src/application/ports/storage-errors.ts';
import { idempotencyFor } from '../../../support/archived-pets.ts';
import {
  databasePool,
  findingsIn,
  freshDatabase,
  openRepository,
  openService,
  setupErrorOf,
} from '../../../support/mongo-database.ts';
import { aPet } from '../../../support/pets.ts';
import { noMongo, mongo } from '../../../support/shared-mongo.ts';

const pet = { name: 'Rex', categoryId: 7n, status: 'sold' };

type RequiredIndex = { readonly collection: string; readonly index: string };
const IDEM_INDEX = { collection: 'pets', index: 'idem.k_1' };
const COUNTS_INDEX = { collection: 'rate_limits', index: 'key_1' };

/** The tests of this pool must restore the indexes that they drop. */
const soundDatabase = databasePool(() => mongo!);

describe.skipIf(mongo === undefined)(`a required index${noMongo}`, () => {
  it('may have a different name if it is unique, and may have further options that change no answer', async () => {
    const { url, pets } = await freshDatabase(mongo!);
    await pets.dropIndex(IDEM_INDEX.index);
    const uniqueness = { unique: true, partialFilterExpression: { 'idem.k': { $exists: true } } };
    const options = { name: 'mine', ...uniqueness, storageEngine: { wiredTiger: {} } };
    await pets.createIndex({ 'idem.k': 1 }, options, {});
    const indexesBefore = await pets.indexes();

    await migrate(url);
    expect(await pets.indexes()).toStrictEqual(indexesBefore);
    await (await openService(url)).close();
  });

  it('is reported by the start and the probe, together with the other missing indexes, and is created by a start with autoMigrate', async () => {
    const { url, db } = await soundDatabase();
    const { pets, probe } = await openService(url);
    const { repository, sent } = await openRepository(url, 60_000);
    for (const name of ['pets', 'rate_limits']) await db.collection(name).dropIndexes();
    const findsBefore = sent('find');

    // The list rejects immediately, because no retry can succeed.
    await expect(repository.list({ limit: 10, status: 'sold' })).rejects.toThrow(StorageUnavailable);
    expect(sent('find')).toBe(findsBefore + 1);
    expect(await repository.list({ limit: 10 })).toStrictEqual([]);
    // A command can open the archive, because an export needs none of these indexes.
    const archive = await openMongoArchive(url);
    await archive.close();
    await expect(pets.insertOnce(aPet(), idempotencyFor('a'))).rejects.toThrow('lacks the index');
    const problem =
      `in the database "${db.databaseName}" the collection "pets" lacks the index "status_1__id_1", ` +
      'the collection "pets" lacks the index "idem.k_1", ' +
      'the collection "rate_limits" lacks the index "key_1"; run: petstore migrate';
    expect(await setupErrorOf(openService(url))).toBe(problem);
    await expect(probe.check()).rejects.toThrow(new StorageUnavailable(problem));
    const { close } = await openMongoStorage(url, { autoMigrate: true });
    await close();
    await probe.check();
    expect(await findingsIn(url)).toStrictEqual([]);
  });

  it.each<readonly [string, RequiredIndex, Document, string]>([
    [
      'pets',
      IDEM_INDEX,
      { ...pet, idem: { k: 'k', fp: 'f' } },
      '"idem.k"; keep the field "idem" only in the pet that the client knows',
    ],
    [
      'rate limit counts',
      COUNTS_INDEX,
      { key: 'k', points: 1, expire: new Date() },
      '"key"; run in mongosh: db.getCollection("rate_limits").deleteMany({})',
    ],
  ])('is not built while two %s share a value', async (_, { collection, index }, document, remedy) => {
    const { url, db } = await soundDatabase();
    await db.collection(collection).dropIndex(index);
    const documents = db.collection<{ _id: bigint }>(collection);
    await documents.insertMany([1n, 2n].map((_id) => ({ ...document, _id })));

    const line =
      `documents of the collection "${collection}" of the database "${db.databaseName}" share a value of ` +
      `${remedy}, then migrate again`;
    expect(await setupErrorOf(migrate(url))).toBe(line);
    expect(await setupErrorOf(openMongoStorage(url, { autoMigrate: true }))).toBe(line);
    await documents.deleteOne({ _id: 2n });
    await migrate(url);
    expect(await findingsIn(url)).toStrictEqual([]);
  });
});
