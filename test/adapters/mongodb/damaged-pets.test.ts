import { type Document, Int32, Long, ObjectId } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { PetIdTaken } from '../../../src/application/maintenance/errors.ts';
import { damagedPetsContract } from '../../contracts/damaged-pets.ts';
import { anArchivedPet, idempotencyFor } from '../../support/archived-pets.ts';
import { databasePool, openService } from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { aPet } from '../../support/pets.ts';

const STATUS = 'status must be one of available, pending, sold';
const INT64 = 'categoryId must be an integer in the range of int64';
const KEY = 'idempotency key must be 64 lower-case hex digits';

const emptyDatabase = databasePool(() => mongo!);

async function open() {
  const { url, pets: documents, db } = await emptyDatabase();
  const { pets, archive, close } = await openService(url);
  return {
    collection: db.collection<Document & { _id: unknown }>('pets'),
    pets,
    archive,
    close,
    async damage(id: bigint, update: object) {
      await documents.updateOne({ _id: id }, update, { bypassDocumentValidation: true });
    },
  };
}

const set = (fields: object) => ({ $set: fields });
const unset = (field: string) => ({ $unset: { [field]: '' } });

describe.skipIf(mongo === undefined)(`MongoDB${noMongo}`, () => {
  damagedPetsContract<object>(
    'mongodb',
    open,
    // proof/damage/wrong-documents.test.ts damages every field, with values of every type.
    [
      ['an unknown status', set({ status: 'sole' }), STATUS],
      ['no name', unset('name'), 'name must be a string'],
      ['a category that is an int32', set({ categoryId: new Int32(7) }), INT64],
    ],
    [
      ['"idem" is null instead of a key and a fingerprint', set({ idem: null }), KEY],
      ['the key is missing beside its fingerprint', unset('idem.k'), KEY],
    ],
  );
});

describe.skipIf(mongo === undefined)(`a document that is not a pet${noMongo}`, () => {
  // pet-document.test.ts tries further types of an _id.
  it.each<readonly [string, unknown]>([
    ['an ObjectId', new ObjectId()],
    ['an int32', new Int32(7)],
    ['zero', Long.ZERO],
    ['a long beyond the last id', Long.fromString('9007199254740992')],
  ])('is ignored if its _id is %s', async (_, _id) => {
    const { pets, archive, collection } = await open();
    const stored = [];
    for (let n = 1; n <= 3; n++) stored.push(await pets.insert(aPet()));
    await collection.insertOne(
      { _id, name: 'Tom', categoryId: 7n, status: 'available' },
      { bypassDocumentValidation: true },
    );

    for (const status of [undefined, 'available'] as const) {
      expect(await pets.list({ limit: 10, status })).toStrictEqual(stored);
      expect(await pets.list({ limit: 10, status, after: 3n })).toStrictEqual([]);
    }
    for (const id of [-7n, 0n, 7n, 9_007_199_254_740_992n]) expect(await pets.findById(id)).toBeUndefined();
    await archive.write(stored);
    expect(await archive.read(0n, 10)).toStrictEqual(stored);
    expect(await archive.count(3n)).toBe(3);
  });

  it('reserves its _id: no pet is stored under the same number', async () => {
    const { pets, archive, collection } = await open();
    await collection.insertOne(
      { _id: new Int32(1), name: 'Tom', categoryId: 7n, status: 'available' },
      { bypassDocumentValidation: true },
    );

    await expect(archive.write([anArchivedPet({ id: 1n })])).rejects.toStrictEqual(new PetIdTaken(1n));
    expect(await pets.insert(aPet())).toMatchObject({ id: 2n });
  });

  it('is not returned to a repeated create request, even if it has the idempotency key of the request', async () => {
    const { pets, collection } = await open();
    const { key: k, fingerprint: fp } = idempotencyFor('a');
    await collection.insertOne(
      { _id: 'a', name: 'Tom', categoryId: 7n, status: 'available', idem: { k, fp } },
      { bypassDocumentValidation: true },
    );

    await expect(pets.insertOnce(aPet({ name: 'Tom' }), idempotencyFor('a'))).rejects.toMatchObject({
      kind: 'storage-unavailable',
    });
  });
});
