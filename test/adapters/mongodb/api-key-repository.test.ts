import { setImmediate as nextTurn } from 'node:timers/promises';
import { Long, ObjectId } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import type { ApiKeyRepository } from '../../../src/application/ports/api-key-repository.ts';
import { DamagedApiKey } from '../../../src/application/ports/storage-errors.ts';
import { expectDamaged } from '../../contracts/damaged-api-key.ts';
import { aKey } from '../../support/api-keys.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { databasePool, openClient, throughProxy } from '../../support/mongo-database.ts';
import { numbers } from '../../support/numbers.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';

const emptyDatabase = databasePool(() => mongo!);

/** Lets a test store a document that the validator of the collection would refuse. */
const WITHOUT_VALIDATION = { bypassDocumentValidation: true } as const;
const changeTime = new Date(1_797_000_000_001);
const key = aKey(1, { rateLimit: { requests: 600, seconds: 60 } });
/** For each method that changes a key: a call with `key`. */
const callOf = {
  insert: (keys: ApiKeyRepository) => keys.insert(key),
  revoke: (keys: ApiKeyRepository) => keys.revoke(key.id, changeTime),
  expire: (keys: ApiKeyRepository) => keys.expire(key.id, changeTime),
  recordUse: (keys: ApiKeyRepository) => keys.recordUse(new Map([[key.id, changeTime]])),
};

async function openKeys(url: string) {
  const client = await openClient(url);
  return { keys: new MongoApiKeyRepository(client.db, client.reads), ...client };
}

describe.skipIf(mongo === undefined)(`API keys in MongoDB${noMongo}`, () => {
  it('are documents whose _id is the id of the key, and whose other fields are the fields of the key', async () => {
    const { url, db } = await emptyDatabase();
    const { keys } = await openKeys(url);
    await keys.insert(key);
    await keys.insert(aKey(2));
    for (const method of ['revoke', 'expire', 'recordUse'] as const) await callOf[method](keys);

    const { id: _id, ...fields } = key;
    const { id: otherId, ...otherFields } = aKey(2);
    expect(await db.collection('api_keys').find().sort({ _id: 1 }).toArray()).toStrictEqual([
      { _id, ...fields, revokedAt: changeTime, expiresAt: changeTime, lastUsedAt: changeTime },
      { _id: otherId, ...otherFields },
    ]);
  });

  it('are found with at most one query per 5 ms, which has the ids of all keys requested in this time', async () => {
    const { url } = await emptyDatabase();
    const { keys, commands } = await openKeys(url);
    await Promise.all(numbers(50).map((n) => keys.insert(aKey(n))));
    await keys.list();
    commands.length = 0;
    const countKeysPerQuery = () => commands.map(({ command }) => command['filter']._id.$in.length);
    // The fake timers replace the global functions, which the adapter calls. The timers of the driver stay real,
    // because the driver imports them from `node:timers`.
    const clock = fakeClock('setTimeout', 'clearTimeout');

    // Requests 100 different keys, each of them twice. Only the first 50 keys exist.
    const requestedNumbers = Array.from({ length: 200 }, (_, n) => n % 100);
    const foundKeys = await Promise.all(requestedNumbers.map((n) => keys.findById(aKey(n).id)));

    expect(foundKeys).toStrictEqual(requestedNumbers.map((n) => (n < 50 ? aKey(n) : undefined)));
    // One caller changes its key. Another caller that requested the same key does not see the change.
    foundKeys[0]!.createdAt.setTime(0);
    expect(foundKeys[100]).toStrictEqual(aKey(0));
    const laterCalls = [keys.findById(aKey(1).id), keys.findById(aKey(2).id)];
    // 4 ms after the first query, no second query is sent.
    clock.advance(4);
    await nextTurn();
    expect(countKeysPerQuery()).toStrictEqual([100]);
    clock.advance(1);
    await Promise.all(laterCalls);
    clock.advance(5);
    await keys.findById(aKey(3).id);
    expect(countKeysPerQuery()).toStrictEqual([100, 2, 1]);
  });

  it('are marked as used with one command for all keys, which adds no document for an unknown key', async () => {
    const { url, db } = await emptyDatabase();
    const { keys, commands } = await openKeys(url);
    await keys.insert(aKey(1));
    commands.length = 0;

    await keys.recordUse(new Map([1, 2, 3].map((n) => [aKey(n).id, changeTime])));

    // With `ordered: false`, the server changes the other keys even if it cannot change one of them.
    expect(commands.map(({ commandName, command }) => [commandName, command['ordered']])).toStrictEqual([
      ['update', false],
    ]);
    expect(await db.collection('api_keys').countDocuments()).toBe(1);
  });

  it.each([
    { method: 'insert', command: 'insert', expected: key },
    { method: 'revoke', command: 'findAndModify', expected: { ...key, revokedAt: changeTime } },
    { method: 'expire', command: 'findAndModify', expected: { ...key, expiresAt: changeTime } },
    { method: 'recordUse', command: 'update', expected: { ...key, lastUsedAt: changeTime } },
  ] as const)('are changed once if the reply to $method is lost', async ({ method, command, expected }) => {
    const { url } = await emptyDatabase();
    const { keys: directKeys } = await openKeys(url);
    if (method !== 'insert') await directKeys.insert(key);
    // `retryWrites` is off so that the adapter, and not the driver, repeats the command. The server would recognise a
    // command that the driver repeats, and would not execute it again.
    const { url: proxyUrl, proxy } = await throughProxy(url, { retryWrites: false });
    const { keys, sent } = await openKeys(proxyUrl);
    proxy.loseReplies(command, 1);

    const result = await callOf[method](keys);

    expect(sent(command)).toBe(2);
    const returnsKey = method === 'revoke' || method === 'expire';
    expect(result).toStrictEqual(returnsKey ? expected : undefined);
    expect(await directKeys.list()).toStrictEqual([expected]);
  });

  // proof/damage/wrong-documents.test.ts damages every other field, with values of every type.
  it('are not returned if a field is damaged, and the list of keys does not quote an invalid _id', async () => {
    const { url, db } = await emptyDatabase();
    const { keys } = await openKeys(url);
    const documents = db.collection<{ _id: string | ObjectId }>('api_keys');
    await keys.insert(aKey(1));
    await keys.insert(aKey(2));
    await documents.updateOne({ _id: aKey(1).id }, { $set: { revokedAt: Long.ONE } }, WITHOUT_VALIDATION);
    await expectDamaged(keys, 'revokedAt must be an instant');

    await documents.insertOne({ _id: new ObjectId() }, WITHOUT_VALIDATION);
    expect(await keys.list()).toContainEqual(
      new DamagedApiKey('with an unreadable id', 'id must be 16 lower-case hex digits'),
    );
  });
});
