import { type Document, Int32, Long, ObjectId } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { PetIdTaken } from '../../../src/application/maintenance/errors.ts';
import { damagedPetsContract } from '../../contracts/damaged-pets.ts';
import { anArchivedPet, idempotencyFor } from '../../support/archived-pets.ts';
import { databasePool, openService } from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { aPet } from '../../support/pets.ts';

const STATUS_PROBLEM = 'status must be one of available, pending, sold';
const CATEGORY_PROBLEM = 'categoryId must be an integer in the range of int64';
const KEY_PROBLEM = 'idempotency key must be 64 lower-case hex digits';

const emptyDatabase = databasePool(() => mongo!);

async function open() {
  const { url, pets: petDocuments, db } = await emptyDatabase();
  const { pets, archive, close } = await openService(url);
  return {
    /** The collection of `petDocuments`, but its documents can have any `_id`. */
    documents: db.collection<Document & { _id: unknown }>('pets'),
    pets,
    archive,
    close,
    async damage(id: bigint, update: object) {
      await petDocuments.updateOne({ _id: id }, update, { bypassDocumentValidation: true });
    },
  };
}

const setFields = (fields: object) => ({ $set: fields });
const unsetField = (field: string) => ({ $unset: { [field]: '' } });

describe.skipIf(mongo === undefined)(`MongoDB${noMongo}`, () => {
  damagedPetsContract<object>(
    'mongodb',
    open,
    // These are samples. proof/damage/wrong-documents.test.ts damages every field, with values of every type.
    [
      ['an unknown status', setFields({ status: 'sole' }), STATUS_PROBLEM],
      ['no name', unsetField('name'), 'name must be a string'],
      ['a category that is an int32', setFields({ categoryId: new Int32(7) }), CATEGORY_PROBLEM],
    ],
    [
      ['the field "idem", which has the key, is null', setFields({ idem: null }), KEY_PROBLEM],
      ['the fingerprint is stored without its key', unsetField('idem.k'), KEY_PROBLEM],
    ],
  );
});

describe.skipIf(mongo === undefined)(`a document that is not a pet${noMongo}`, () => {
  // These are samples. pet-document.test.ts also tries a date, a timestamp and a string as the _id.
  it.each<readonly [string, unknown]>([
    ['an ObjectId', new ObjectId()],
    ['an int32', new Int32(7)],
    ['zero', Long.ZERO],
    ['a long greater than the greatest possible id', Long.fromString('9007199254740992')],
  ])('is ignored if its _id is %s', async (_, _id) => {
    const { pets, archive, documents } = await open();
    const stored = [];
    for (let n = 1; n <= 3; n++) stored.push(await pets.insert(aPet()));
    await documents.insertOne(
      { _id, name: 'Tom', categoryId: 7n, status: 'available' },
      { bypassDocumentValidation: true },
    );

    for (const status of [undefined, 'available'] as const) {
      expect(await pets.list({ limit: 10, status })).toStrictEqual(stored);
      expect(await pets.list({ limit: 10, status, after: 3n })).toStrictEqual([]);
    }
    // The service finds no pet under the _id of any row, or under a negative id.
    for (const id of [-7n, 0n, 7n, 9_007_199_254_740_992n]) expect(await pets.findById(id)).toBeUndefined();
    await archive.write(stored);
    expect(await archive.read(0n, 10)).toStrictEqual(stored);
    expect(await archive.count(3n)).toBe(3);
  });

  it('takes the id that equals its _id, so no pet is stored with this id', async () => {
    const { pets, archive, documents } = await open();
    // MongoDB compares numbers by their value, so this int32 is equal to the long of a pet.
    await documents.insertOne(
      { _id: new Int32(1), name: 'Tom', categoryId: 7n, status: 'available' },
      { bypassDocumentValidation: true },
    );

    await expect(archive.write([anArchivedPet({ id: 1n })])).rejects.toStrictEqual(new PetIdTaken(1n));
    expect(await pets.insert(aPet())).toMatchObject({ id: 2n });
  });

  it('is not returned to a create request with the same idempotency key: the request fails', async () => {
    const { pets, documents } = await open();
    const { key: k, fingerprint: fp } = idempotencyFor('a');
    await documents.insertOne(
      { _id: 'a', name: 'Tom', categoryId: 7n, status: 'available', idem: { k, fp } },
      { bypassDocumentValidation: true },
    );

    await expect(pets.insertOnce(aPet({ name: 'Tom' }), idempotencyFor('a'))).rejects.toMatchObject({
      kind: 'storage-unavailable',
    });
  });
});
