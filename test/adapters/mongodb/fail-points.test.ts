import { describe, expect, it } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import { aKey } from '../../support/api-keys.ts';
import { failCommand, failPoint, separateMongo } from '../../support/fail-point.ts';
import { freshDatabase, openClient, openService } from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';

const TIMED_OUT = { code: 64, errmsg: 'waiting for replication timed out' };

// A fail point is a switch in the server that makes the server fail in a chosen way.
describe.skipIf(mongo === undefined)(`the adapter of a MongoDB with fail points${noMongo}`, () => {
  const { server, emptyDatabase } = separateMongo();

  async function open() {
    const { url, db } = await emptyDatabase();
    const { db: adapterDb, reads, sent } = await openClient(url);
    return { keys: new MongoApiKeyRepository(adapterDb, reads), db, sent };
  }

  it('acknowledges an API key only when a majority has the key, even if a retry finds the key earlier', async () => {
    const { keys, db, sent } = await open();
    // From here on, no new write counts as stored by a majority: an election could roll back the write.
    const allowMajority = await failPoint(db, 'disableSnapshotting', 'alwaysOn');
    // Each attempt reports immediately that the wait for a majority timed out, instead of waiting for the timeout.
    await failCommand(db, 'insert', 'alwaysOn', { writeConcernError: TIMED_OUT });
    let isSettled = false;
    const inserting = keys.insert(aKey()).finally(() => {
      isSettled = true;
    });

    // The document exists, a second attempt has found it, and a majority read does not show it yet.
    await expect.poll(() => sent('find')).toBeGreaterThan(1);
    const local = { readConcern: { level: 'local' } } as const;
    expect(await db.collection('api_keys').countDocuments({}, local)).toBe(1);
    expect(isSettled).toBe(false);
    await allowMajority();

    await inserting;
    expect(await keys.list()).toStrictEqual([aKey()]);
  });

  const INDEX_BUILD = 'hangAfterStartingIndexBuild';

  it('opens no service while a migration builds an index, and stops this migration and a waiting migration when a newer build sets its version', async () => {
    const { url, db, pets } = await freshDatabase(server());
    const indexesBefore = await pets.indexes();
    await pets.insertOne({ _id: 1n, name: 'Rex', categoryId: 8n, status: 'sold' });
    await pets.dropIndex('idem.k_1');
    const continueBuild = await failPoint(db, INDEX_BUILD, 'alwaysOn');

    const firstMigration = migrate(url);
    const untilBuildHangs = { waitForFailPoint: INDEX_BUILD, timesEntered: 1, maxTimeMS: 10_000 };
    await db.client.db('admin').command(untilBuildHangs);
    await expect(openService(url)).rejects.toThrow(
      'the collection "pets" is still building the index "idem.k_1"',
    );
    const waitingMigration = migrate(url);
    // The first migration renews its lease (its right to migrate) until the index is built, which can take any time.
    const readLease = async () => (await db.collection('schema').findOne())?.['lease'];
    const { by, until } = await readLease();
    const isRenewed = expect.toSatisfy((renewed: Date) => renewed > until);
    await expect.poll(readLease).toStrictEqual({ by, until: isRenewed });
    // Sets the version as a newer build does.
    await db.collection('schema').updateOne({}, { $set: { version: 5 } });
    await continueBuild();

    for (const outcome of await Promise.allSettled([firstMigration, waitingMigration])) {
      const message = expect.stringContaining('run a newer build of petstore');
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message } });
    }
    expect(await pets.indexes()).toStrictEqual(indexesBefore);
    expect(await db.collection('schema').findOne()).toMatchObject({ version: 5 });
  });
});
