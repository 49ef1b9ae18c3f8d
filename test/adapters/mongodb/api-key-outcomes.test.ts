import { MongoServerError } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import { ApiKeyIdTaken } from '../../../src/application/keys/errors.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { aKey } from '../../support/api-keys.ts';
import { failCommand, failPoint } from '../../support/fail-point.ts';
import { freshDatabase, openClient } from '../../support/mongo-database.ts';
import { startMongo } from '../../support/mongodb.ts';
import { leftOut, mongo as shared } from '../../support/shared-mongo.ts';

const at = new Date(1_797_000_000_001);
const TIMED_OUT = { code: 64, errmsg: 'waiting for replication timed out' };
const NOT_WRITABLE_PRIMARY = 10_107;
const BAD_VALUE = 2;

// A separate server: some fail points affect all its clients.
describe.skipIf(shared === undefined)(`a key in MongoDB${leftOut}`, () => {
  let mongo: Awaited<ReturnType<typeof startMongo>>;
  beforeAll(async () => {
    mongo = await startMongo({ setParameters: { enableTestCommands: 1 } });
  });
  afterAll(() => mongo?.stop());

  async function open(url: string, timeoutMs?: number) {
    const opened = await openClient(url);
    return { keys: new MongoApiKeyRepository(opened.db, opened.reads, timeoutMs), ...opened };
  }

  it.each([1, 2])(
    'is stored once when the write concern times out %i times, the second time with a duplicate key',
    async (times) => {
      const { url, db } = await freshDatabase(mongo);
      const { keys, sent } = await open(url);
      await keys.insert(aKey(2));
      await failCommand(db, 'insert', { times }, { writeConcernError: TIMED_OUT });

      await keys.insert(aKey());

      expect(await keys.list()).toStrictEqual([aKey(), aKey(2)]);
      expect(sent('insert')).toBeGreaterThanOrEqual(3);
    },
  );

  it('is not overwritten when a duplicate key and a write concern timeout come in one reply', async () => {
    const { url, db } = await freshDatabase(mongo);
    const { keys } = await open(url);
    await keys.insert(aKey());
    await failCommand(db, 'insert', { times: 1 }, { writeConcernError: TIMED_OUT });

    const another = { ...aKey(2), id: aKey().id };
    await expect(keys.insert(another)).rejects.toThrow(ApiKeyIdTaken);
    expect(await keys.list()).toStrictEqual([aKey()]);
  });

  it.each(['insert', 'find', 'findAndModify', 'update'])(
    'keeps every change while the server is not primary: %s',
    async (command) => {
      const { url, db } = await freshDatabase(mongo);
      const { keys } = await open(url);
      await failCommand(db, command, { times: 3 }, { errorCode: NOT_WRITABLE_PRIMARY });

      await keys.insert(aKey());
      await keys.recordUse(new Map([[aKey().id, at]]));
      await keys.revoke(aKey().id, at);

      expect(await keys.findById(aKey().id)).toStrictEqual({ ...aKey(), lastUsedAt: at, revokedAt: at });
    },
  );

  it.each(['insert', 'find', 'findAndModify', 'update'])(
    'rejects with the error itself when the server rejects the command: %s',
    async (command) => {
      const { url, db } = await freshDatabase(mongo);
      const { keys, sent } = await open(url);
      const calls = {
        insert: () => keys.insert(aKey()),
        find: () => keys.findById(aKey().id),
        findAndModify: () => keys.revoke(aKey().id, at),
        update: () => keys.recordUse(new Map([[aKey().id, at]])),
      };
      await failCommand(db, command, 'alwaysOn', { errorCode: BAD_VALUE });

      const call = Object.entries(calls).find(([name]) => name === command)?.[1];
      const error = await call?.().catch((reason: unknown) => reason);

      expect(error).toBeInstanceOf(MongoServerError);
      expect(error).toMatchObject({ code: BAD_VALUE });
      expect(sent(command)).toBe(1);
    },
  );

  it('records the original time of use, even if the caller changes the date during a retry', async () => {
    const { url, db } = await freshDatabase(mongo);
    const { keys, sent } = await open(url);
    await keys.insert(aKey());
    // More failures than the driver itself retries.
    await failCommand(db, 'update', { times: 3 }, { errorCode: NOT_WRITABLE_PRIMARY });
    const use = new Date(at);

    const noting = keys.recordUse(new Map([[aKey().id, use]]));
    use.setTime(0);
    await noting;

    expect(sent('update')).toBe(4);
    expect(await keys.findById(aKey().id)).toStrictEqual({ ...aKey(), lastUsedAt: at });
  });

  it('is unavailable when the failure persists', async () => {
    const { url, db } = await freshDatabase(mongo);
    const { keys } = await open(url, 500);
    await failCommand(db, 'update', 'alwaysOn', { errorCode: NOT_WRITABLE_PRIMARY });

    await expect(keys.recordUse(new Map([[aKey().id, at]]))).rejects.toThrow(StorageUnavailable);
  });

  it('is not acknowledged before a majority has it, even if a retry finds it', async () => {
    const { url, db } = await freshDatabase(mongo);
    const { keys, sent } = await open(url);
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
});
