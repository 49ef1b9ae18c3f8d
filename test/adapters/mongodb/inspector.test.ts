import { type Db, type Document, Double, Long, ObjectId } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { toPetDocument } from '../../../src/adapters/mongodb/pet-document.ts';
import { anArchivedPet, idempotencyFor } from '../../support/archived-pets.ts';
import { databasePool, findingsIn, freshDatabase, type TestDatabase } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

const emptyDatabase = databasePool(() => mongo!);

const UNCHECKED = { bypassDocumentValidation: true } as const;
const INVALID = 'the validator does not accept it';
const idem = (key: string) => toPetDocument(anArchivedPet({ id: 1n }), idempotencyFor(key)).idem;

/** The findings about a database with the pets 1 and 2, after some damage. */
async function findings({ url, db }: TestDatabase, damage: (db: Db) => Promise<unknown>) {
  const pets = [1n, 2n].map((id) => toPetDocument(anArchivedPet({ id }), idempotencyFor(`key ${id}`)));
  await db.collection('pets').insertMany(pets as Document[]);
  await damage(db);
  return findingsIn(url);
}

const nothing = async () => {};
const add =
  (name: string, ...documents: Document[]) =>
  (db: Db) =>
    db.collection(name).insertMany(documents, UNCHECKED);
const setPet1 = (fields: Document) => (db: Db) =>
  db.collection<{ _id: bigint }>('pets').updateOne({ _id: 1n }, { $set: fields }, UNCHECKED);

describe.skipIf(mongo === undefined)(`an inspector of MongoDB${leftOut}`, () => {
  it.each<readonly [string, (db: Db) => Promise<unknown>, readonly string[]]>([
    ['a sound database', nothing, []],
    ['ids that are reserved', add('pets', { _id: new Double(3) as never, upTo: 9n }), []],
    ['an invalid token of an insert', setPet1({ op: 'x' }), [`pet 1: ${INVALID}`]],
    [
      'documents that are not pets, behind a pet that reading reports',
      async (db) => {
        await setPet1({ name: 7 })(db);
        await add(
          'pets',
          { _id: new ObjectId('0123456789abcdef01234567') },
          { _id: Long.ZERO as never },
          { _id: 'x'.repeat(200) as never },
          { _id: new Double(9) as never, upTo: 9 },
        )(db);
      },
      [
        `pet {"$oid":"0123456789abcdef01234567"}: ${INVALID}`,
        `pet 0: ${INVALID}`,
        `pet "${'x'.repeat(99)}: ${INVALID}`,
        `pet 9: ${INVALID}`,
      ],
    ],
    [
      'a count without an end',
      add('rate_limits', { _id: Long.fromNumber(7) as never, key: 'k', points: 1 }),
      [`rate limit count 7: ${INVALID}`],
    ],
    ['a damaged key, which reading reports', add('api_keys', { _id: 'k' as never }), []],
  ])('reports exactly the problems of the documents: %s', async (_, damage, expected) => {
    expect(await findings(await emptyDatabase(), damage)).toStrictEqual(expected);
  });

  it('reports missing indexes, and pets that share an idempotency key', async () => {
    const damage = async (db: Db) => {
      for (const index of ['status_1__id_1', 'idem.k_1']) await db.collection('pets').dropIndex(index);
      await setPet1({ idem: idem('key 2') })(db);
    };
    expect(await findings(await freshDatabase(mongo!), damage)).toStrictEqual([
      'collection "pets": it lacks the index "status_1__id_1"',
      'collection "pets": it lacks the index "idem.k_1"',
      'pets 1, 2: they share an idempotency key',
    ]);
  });

  it('compares the numbers of a validator by value', async () => {
    const database = await freshDatabase(mongo!);
    const [info] = await database.db.listCollections({ name: 'pets' }, { nameOnly: false }).toArray();
    const { validator }: Document = info!.options!;
    validator.$jsonSchema.anyOf[0].properties.name.maxLength = 255n;
    const damage = (db: Db) => db.command({ collMod: 'pets', validator });
    expect(await findings(database, damage)).toStrictEqual([]);
  });
});
