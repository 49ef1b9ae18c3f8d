import { describe, expect, it } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import { aKey } from '../../support/api-keys.ts';
import { failCommand, failPoint, separateMongo } from '../../support/fail-point.ts';
import { freshDatabase, openClient, openService } from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';

const WRITE_CONCERN_TIMEOUT = { code: 64, errmsg: 'waiting for replication timed out' };

// The tests use fail points. A fail point is a switch in the server that makes the server fail in a chosen way.
describe.skipIf(mongo === undefined)(`the MongoDB adapter${noMongo}`, () => {
  const { server, emptyDatabase } = separateMongo();

  async function open() {
    const { url, db } = await emptyDatabase();
    const { db: adapterDb, reads, sent } = await openClient(url);
    return { keys: new MongoApiKeyRepository(adapterDb, reads), db, sent };
  }

  it('acknowledges an API key only when a majority of the members has the key, even if a retry finds the key earlier', async () => {
    const { keys, db, sent } = await open();
    // Until `allowMajority` is called, no new write counts as stored by a majority of the members. An election could
    // still roll back such a write.
    const allowMajority = await failPoint(db, 'disableSnapshotting', 'alwaysOn');
    // Each insert command immediately reports that its wait for a majority has timed out, so the test is fast.
    await failCommand(db, 'insert', 'alwaysOn', { writeConcernError: WRITE_CONCERN_TIMEOUT });
    let isSettled = false;
    const inserting = keys.insert(aKey()).finally(() => {
      isSettled = true;
    });

    // The key is stored, and a retry has looked for the key, but a majority does not have the key yet.
    await expect.poll(() => sent('find')).toBeGreaterThan(1);
    const localRead = { readConcern: { level: 'local' } } as const;
    expect(await db.collection('api_keys').countDocuments({}, localRead)).toBe(1);
    expect(isSettled).toBe(false);
    await allowMajority();

    await inserting;
    expect(await keys.list()).toStrictEqual([aKey()]);
  });

  const HANG_FAIL_POINT = 'hangAfterStartingIndexBuild';

  it('opens no service while a migration builds an index, and stops both running migrations when a newer build has migrated the schema', async () => {
    const { url, db, pets } = await freshDatabase(server());
    const indexesBefore = await pets.indexes();
    await pets.insertOne({ _id: 1n, name: 'Rex', categoryId: 8n, status: 'sold' });
    await pets.dropIndex('idem.k_1');
    const continueIndexBuild = await failPoint(db, HANG_FAIL_POINT, 'alwaysOn');

    const firstMigration = migrate(url);
    const waitCommand = { waitForFailPoint: HANG_FAIL_POINT, timesEntered: 1, maxTimeMS: 10_000 };
    await db.client.db('admin').command(waitCommand);
    await expect(openService(url)).rejects.toThrow(
      'the collection "pets" is still building the index "idem.k_1"',
    );
    const waitingMigration = migrate(url);
    // A lease is the right of one migration to change the schema. The first migration renews its lease while the
    // server builds the index, because the build can take longer than a lease.
    const readLease = async () => (await db.collection('schema').findOne())?.['lease'];
    const { by, until } = await readLease();
    const laterTime = expect.toSatisfy((time: Date) => time > until);
    await expect.poll(readLease).toStrictEqual({ by, until: laterTime });
    // This update stands for the migration of a newer build.
    await db.collection('schema').updateOne({}, { $set: { version: 5 } });
    await continueIndexBuild();

    for (const outcome of await Promise.allSettled([firstMigration, waitingMigration])) {
      const message = expect.stringContaining('run a newer build of petstore');
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message } });
    }
    expect(await pets.indexes()).toStrictEqual(indexesBefore);
    expect(await db.collection('schema').findOne()).toMatchObject({ version: 5 });
  });
});
