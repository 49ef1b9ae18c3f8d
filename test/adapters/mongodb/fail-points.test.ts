import { describe, expect, it } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import { aKey } from '../../support/api-keys.ts';
import { failCommand, failPoint, separateMongo } from '../../support/fail-point.ts';
import { freshDatabase, openClient, openService } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

const TIMED_OUT = { code: 64, errmsg: 'waiting for replication timed out' };

describe.skipIf(mongo === undefined)(`MongoDB with fail points${leftOut}`, () => {
  const { server, emptyDatabase } = separateMongo();

  async function open() {
    const { url, db } = await emptyDatabase();
    const { db: ours, reads, sent } = await openClient(url);
    return { keys: new MongoApiKeyRepository(ours, reads), db, sent };
  }

  it('acknowledges an API key only when a majority has it, even if a retry finds it', async () => {
    const { keys, db, sent } = await open();
    // Freezes the majority commit point: new writes could still be rolled back.
    const moveOn = await failPoint(db, 'disableSnapshotting', 'alwaysOn');
    // Otherwise an attempt waits for the majority until the write concern times out.
    await failCommand(db, 'insert', 'alwaysOn', { writeConcernError: TIMED_OUT });
    let settled = false;
    const inserting = keys.insert(aKey()).finally(() => {
      settled = true;
    });

    // The document exists, a second attempt has found it, and a majority read does not show it yet.
    await expect.poll(() => sent('find')).toBeGreaterThan(1);
    const local = { readConcern: { level: 'local' } } as const;
    expect(await db.collection('api_keys').countDocuments({}, local)).toBe(1);
    expect(settled).toBe(false);
    await moveOn();

    await inserting;
    expect(await keys.list()).toStrictEqual([aKey()]);
  });

  const INDEX_BUILD = 'hangAfterStartingIndexBuild';

  it('refuses a service while a migration builds an index, and both this migration and a waiting one stop at a newer version', async () => {
    const { url, db, pets } = await freshDatabase(server());
    const before = await pets.indexes();
    await pets.insertOne({ _id: 1n, name: 'Rex', categoryId: 8n, status: 'sold' });
    await pets.dropIndex('idem.k_1');
    const disable = await failPoint(db, INDEX_BUILD, 'alwaysOn');

    const first = migrate(url);
    const wait = { waitForFailPoint: INDEX_BUILD, timesEntered: 1, maxTimeMS: 10_000 };
    await db.client.db('admin').command(wait);
    await expect(openService(url)).rejects.toThrow(
      'the collection "pets" is still building the index "idem.k_1"',
    );
    const second = migrate(url);
    // However long an index takes, the migration keeps its place.
    const lease = async () => (await db.collection('schema').findOne())?.['lease'];
    const { by, until } = await lease();
    const isRenewed = expect.toSatisfy((renewed: Date) => renewed > until);
    await expect.poll(lease).toStrictEqual({ by, until: isRenewed });
    // By a newer build.
    await db.collection('schema').updateOne({}, { $set: { version: 5 } });
    await disable();

    for (const outcome of await Promise.allSettled([first, second])) {
      const message = expect.stringContaining('run a newer build of petstore');
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message } });
    }
    expect(await pets.indexes()).toStrictEqual(before);
    expect(await db.collection('schema').findOne()).toMatchObject({ version: 5 });
  });
});
