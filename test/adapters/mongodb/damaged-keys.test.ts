import { Long, ObjectId } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { DamagedApiKey } from '../../../src/application/ports/storage-errors.ts';
import { aKey } from '../../support/api-keys.ts';
import { expectDamaged } from '../../contracts/damaged-api-key.ts';
import { databasePool, openService } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

const emptyDatabase = databasePool(() => mongo!);
const LIMIT = 'rateLimit must be 1 to 1000000000 requests in 1 to 86400 seconds';

async function open() {
  const { url, db } = await emptyDatabase();
  const { keys } = await openService(url);
  return { keys, documents: db.collection<{ _id: string | ObjectId }>('api_keys') };
}

describe.skipIf(mongo === undefined)(`a damaged API key in MongoDB${leftOut}`, () => {
  it.each<readonly [object, string]>([
    [{ digest: null }, 'digest must be 64 lower-case hex digits'],
    [{ revokedAt: Long.ONE }, 'revokedAt must be an instant'],
    [{ rateLimit: { requests: 5 } }, LIMIT],
  ])('is never returned: %o', async (fields, problem) => {
    const { keys, documents } = await open();
    await keys.insert(aKey(1));
    await keys.insert(aKey(2));
    await documents.updateOne({ _id: aKey(1).id }, { $set: fields }, { bypassDocumentValidation: true });
    await expectDamaged(keys, problem);
  });

  it('is listed without its _id when that is not a key id', async () => {
    const { keys, documents } = await open();
    await documents.insertOne({ _id: new ObjectId() }, { bypassDocumentValidation: true });

    expect(await keys.list()).toStrictEqual([
      new DamagedApiKey('with an unreadable id', 'id must be 16 lower-case hex digits'),
    ]);
  });
});
