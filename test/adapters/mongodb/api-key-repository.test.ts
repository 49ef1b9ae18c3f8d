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

const WITHOUT_VALIDATION = { bypassDocumentValidation: true } as const;
const at = new Date(1_797_000_000_001);
const key = aKey(1, { rateLimit: { requests: 600, seconds: 60 } });
const callOf = {
  insert: (keys: ApiKeyRepository) => keys.insert(key),
  revoke: (keys: ApiKeyRepository) => keys.revoke(key.id, at),
  expire: (keys: ApiKeyRepository) => keys.expire(key.id, at),
  recordUse: (keys: ApiKeyRepository) => keys.recordUse(new Map([[key.id, at]])),
};

async function open(url: string) {
  const client = await openClient(url);
  return { keys: new MongoApiKeyRepository(client.db, client.reads), ...client };
}

describe.skipIf(mongo === undefined)(`API keys in MongoDB${noMongo}`, () => {
  it('are stored as documents that have the id of the key as _id, and all other fields of the key under their own names', async () => {
    const { url, db } = await emptyDatabase();
    const { keys } = await open(url);
    await keys.insert(key);
    await keys.insert(aKey(2));
    for (const method of ['revoke', 'expire', 'recordUse'] as const) await callOf[method](keys);

    const { id: _id, ...fields } = key;
    const { id: otherId, ...otherFields } = aKey(2);
    expect(await db.collection('api_keys').find().sort({ _id: 1 }).toArray()).toStrictEqual([
      { _id, ...fields, revokedAt: at, expiresAt: at, lastUsedAt: at },
      { _id: otherId, ...otherFields },
    ]);
  });

  it('are found by one query when many are requested at the same time, and the next query begins 5 ms later at the earliest', async () => {
    const { url } = await emptyDatabase();
    const { keys, commands } = await open(url);
    await Promise.all(numbers(50).map((n) => keys.insert(aKey(n))));
    await keys.list();
    commands.length = 0;
    const countKeysPerQuery = () => commands.map(({ command }) => command['filter']._id.$in.length);
    // Only the timers of the adapter are fake. The driver imports its timers from `node:timers`, so they stay real.
    const clock = fakeClock('setTimeout', 'clearTimeout');

    const requestedNumbers = Array.from({ length: 200 }, (_, n) => n % 100);
    const foundKeys = await Promise.all(requestedNumbers.map((n) => keys.findById(aKey(n).id)));

    expect(foundKeys).toStrictEqual(requestedNumbers.map((n) => (n < 50 ? aKey(n) : undefined)));
    // One caller changes its key. Another caller that requested the same key does not see the change.
    foundKeys[0]!.createdAt.setTime(0);
    expect(foundKeys[100]).toStrictEqual(aKey(0));
    const laterCalls = [keys.findById(aKey(1).id), keys.findById(aKey(2).id)];
    clock.advance(4);
    await nextTurn();
    expect(countKeysPerQuery()).toStrictEqual([100]);
    clock.advance(1);
    await Promise.all(laterCalls);
    clock.advance(5);
    await keys.findById(aKey(3).id);
    expect(countKeysPerQuery()).toStrictEqual([100, 2, 1]);
  });

  it('are all marked as used by one command, which adds no document for an unknown key', async () => {
    const { url, db } = await emptyDatabase();
    const { keys, commands } = await open(url);
    await keys.insert(aKey(1));
    commands.length = 0;

    await keys.recordUse(new Map([1, 2, 3].map((n) => [aKey(n).id, at])));

    expect(commands.map(({ commandName, command }) => [commandName, command['ordered']])).toStrictEqual([
      ['update', false],
    ]);
    expect(await db.collection('api_keys').countDocuments()).toBe(1);
  });

  it.each([
    { method: 'insert', command: 'insert', expected: key },
    { method: 'revoke', command: 'findAndModify', expected: { ...key, revokedAt: at } },
    { method: 'expire', command: 'findAndModify', expected: { ...key, expiresAt: at } },
    { method: 'recordUse', command: 'update', expected: { ...key, lastUsedAt: at } },
  ] as const)('are changed only once if $method is sent twice', async ({ method, command, expected }) => {
    const { url } = await emptyDatabase();
    const { keys: directKeys } = await open(url);
    if (method !== 'insert') await directKeys.insert(key);
    // `retryWrites` is off, because the server would recognise a retry of the driver as the same command.
    const { url: proxyUrl, proxy } = await throughProxy(url, { retryWrites: false });
    const { keys, sent } = await open(proxyUrl);
    proxy.loseReplies(command, 1);

    const result = await callOf[method](keys);

    expect(sent(command)).toBe(2);
    const returnsKey = method === 'revoke' || method === 'expire';
    expect(result).toStrictEqual(returnsKey ? expected : undefined);
    expect(await directKeys.list()).toStrictEqual([expected]);
  });

  // proof/damage/wrong-documents.test.ts tries damage to every other field, with values of every type.
  it('are never returned with a damaged field, and the list of keys quotes no _id that is not the id of a key', async () => {
    const { url, db } = await emptyDatabase();
    const { keys } = await open(url);
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
