import { setImmediate as turn } from 'node:timers/promises';
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
import { leftOut, mongo } from '../../support/shared-mongo.ts';

const emptyDatabase = databasePool(() => mongo!);

const UNCHECKED = { bypassDocumentValidation: true } as const;
const at = new Date(1_797_000_000_001);
const key = aKey(1, { rateLimit: { requests: 600, seconds: 60 } });
const calls = {
  insert: (keys: ApiKeyRepository) => keys.insert(key),
  revoke: (keys: ApiKeyRepository) => keys.revoke(key.id, at),
  expire: (keys: ApiKeyRepository) => keys.expire(key.id, at),
  recordUse: (keys: ApiKeyRepository) => keys.recordUse(new Map([[key.id, at]])),
};

async function open(url: string) {
  const opened = await openClient(url);
  return { keys: new MongoApiKeyRepository(opened.db, opened.reads), ...opened };
}

describe.skipIf(mongo === undefined)(`API keys in MongoDB${leftOut}`, () => {
  it('are stored as documents with the fields of the key, and with its id as _id', async () => {
    const { url, db } = await emptyDatabase();
    const { keys } = await open(url);
    await keys.insert(key);
    await keys.insert(aKey(2));
    for (const method of ['revoke', 'expire', 'recordUse'] as const) await calls[method](keys);

    const { id: _id, ...fields } = key;
    const { id: plainId, ...plain } = aKey(2);
    expect(await db.collection('api_keys').find().sort({ _id: 1 }).toArray()).toStrictEqual([
      { _id, ...fields, revokedAt: at, expiresAt: at, lastUsedAt: at },
      { _id: plainId, ...plain },
    ]);
  });

  it('are found by one query when many are requested at the same time, and queries begin at least 5 ms apart', async () => {
    const { url } = await emptyDatabase();
    const { keys, commands } = await open(url);
    await Promise.all(numbers(50).map((n) => keys.insert(aKey(n))));
    await keys.list();
    commands.length = 0;
    const queried = () => commands.map(({ command }) => command['filter']._id.$in.length);
    // The timers of the driver are real.
    const clock = fakeClock('setTimeout', 'clearTimeout');

    const asked = Array.from({ length: 200 }, (_, n) => n % 100);
    const found = await Promise.all(asked.map((n) => keys.findById(aKey(n).id)));

    expect(found).toStrictEqual(asked.map((n) => (n < 50 ? aKey(n) : undefined)));
    // A caller that changes its result does not affect the others.
    found[0]!.createdAt.setTime(0);
    expect(found[100]).toStrictEqual(aKey(0));
    const next = [keys.findById(aKey(1).id), keys.findById(aKey(2).id)];
    clock.advance(4);
    await turn();
    expect(queried()).toStrictEqual([100]);
    clock.advance(1);
    await Promise.all(next);
    clock.advance(5);
    await keys.findById(aKey(3).id);
    expect(queried()).toStrictEqual([100, 2, 1]);
  });

  it('have their last uses recorded by one command, without an upsert', async () => {
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
  ] as const)('are changed once by $method if its reply is lost', async ({ method, command, expected }) => {
    const { url } = await emptyDatabase();
    const { keys: witness } = await open(url);
    if (method !== 'insert') await witness.insert(key);
    // The server would recognise a retry of the driver.
    const { url: proxyUrl, proxy } = await throughProxy(url, { retryWrites: false });
    const { keys, sent } = await open(proxyUrl);
    proxy.loseReplies(command, 1);

    const result = await calls[method](keys);

    expect(sent(command)).toBe(2);
    const tells = method === 'revoke' || method === 'expire';
    expect(result).toStrictEqual(tells ? expected : undefined);
    expect(await witness.list()).toStrictEqual([expected]);
  });

  // proof/damage/wrong-documents.test.ts has every other field and type.
  it('are never returned with a damaged field, and are listed without quoting an _id that is not a key id', async () => {
    const { url, db } = await emptyDatabase();
    const { keys } = await open(url);
    const documents = db.collection<{ _id: string | ObjectId }>('api_keys');
    await keys.insert(aKey(1));
    await keys.insert(aKey(2));
    await documents.updateOne({ _id: aKey(1).id }, { $set: { revokedAt: Long.ONE } }, UNCHECKED);
    await expectDamaged(keys, 'revokedAt must be an instant');

    await documents.insertOne({ _id: new ObjectId() }, UNCHECKED);
    expect(await keys.list()).toContainEqual(
      new DamagedApiKey('with an unreadable id', 'id must be 16 lower-case hex digits'),
    );
  });
});
