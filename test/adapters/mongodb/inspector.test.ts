import { type Db, type Document, Double, Long, ObjectId } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { toPetDocument } from '../../../src/adapters/mongodb/pet-document.ts';
import { anArchivedPet, idempotencyFor } from '../../support/archived-pets.ts';
import { databasePool, findingsIn, freshDatabase, type TestDatabase } from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';

const emptyDatabase = databasePool(() => mongo!);

const WITHOUT_VALIDATION = { bypassDocumentValidation: true } as const;
const VALIDATOR_PROBLEM = 'the validator does not accept it';
const idemField = (key: string) => toPetDocument(anArchivedPet({ id: 1n }), idempotencyFor(key)).idem;

/** Stores the pets 1 and 2, damages the database, and returns what the inspector finds. */
async function findingsAfter({ url, db }: TestDatabase, damage: (db: Db) => Promise<unknown>) {
  const pets = [1n, 2n].map((id) => toPetDocument(anArchivedPet({ id }), idempotencyFor(`key ${id}`)));
  await db.collection('pets').insertMany(pets as Document[]);
  await damage(db);
  return findingsIn(url);
}

const doNothing = async () => {};
const addTo =
  (name: string, ...documents: Document[]) =>
  (db: Db) =>
    db.collection(name).insertMany(documents, WITHOUT_VALIDATION);
const setPet1 = (fields: Document) => (db: Db) =>
  db.collection<{ _id: bigint }>('pets').updateOne({ _id: 1n }, { $set: fields }, WITHOUT_VALIDATION);

describe.skipIf(mongo === undefined)(`an inspector of MongoDB${noMongo}`, () => {
  // The command `check` uses the inspector, and also reads every pet and every API key. These reads report each damaged
  // pet or key, so the inspector need not report the same damage.
  it.each<readonly [string, (db: Db) => Promise<unknown>, readonly string[]]>([
    ['no damage', doNothing, []],
    ['a document that reserves ids', addTo('pets', { _id: new Double(3) as never, upTo: 9n }), []],
    ['a pet whose field "op" is a string', setPet1({ op: 'x' }), [`pet 1: ${VALIDATOR_PROBLEM}`]],
    [
      'four documents that are not pets, and a pet with a damaged name',
      async (db) => {
        await setPet1({ name: 7 })(db);
        await addTo(
          'pets',
          { _id: new ObjectId('0123456789abcdef01234567') },
          { _id: Long.ZERO as never },
          { _id: 'x'.repeat(200) as never },
          { _id: new Double(9) as never, upTo: 9 },
        )(db);
      },
      [
        `pet {"$oid":"0123456789abcdef01234567"}: ${VALIDATOR_PROBLEM}`,
        `pet 0: ${VALIDATOR_PROBLEM}`,
        `pet "${'x'.repeat(99)}: ${VALIDATOR_PROBLEM}`,
        `pet 9: ${VALIDATOR_PROBLEM}`,
      ],
    ],
    [
      'a rate limit count without the field "expire"',
      addTo('rate_limits', { _id: Long.fromNumber(7) as never, key: 'k', points: 1 }),
      [`rate limit count 7: ${VALIDATOR_PROBLEM}`],
    ],
    ['a damaged API key', addTo('api_keys', { _id: 'k' as never }), []],
  ])('reports invalid documents that no read reports: the database has %s', async (_, damage, expected) => {
    expect(await findingsAfter(await emptyDatabase(), damage)).toStrictEqual(expected);
  });

  it('reports missing indexes, and pets that share an idempotency key', async () => {
    const damage = async (db: Db) => {
      for (const index of ['status_1__id_1', 'idem.k_1']) await db.collection('pets').dropIndex(index);
      await setPet1({ idem: idemField('key 2') })(db);
    };
    expect(await findingsAfter(await freshDatabase(mongo!), damage)).toStrictEqual([
      'collection "pets": it lacks the index "status_1__id_1"',
      'collection "pets": it lacks the index "idem.k_1"',
      'pets 1, 2: they share an idempotency key',
    ]);
  });

  it('accepts a validator in which a number has another BSON type but the same value', async () => {
    const database = await freshDatabase(mongo!);
    const infos = await database.db.listCollections({ name: 'pets' }, { nameOnly: false }).toArray();
    const { validator }: Document = infos[0]!.options!;
    // A migration stores 255 as an int32.
    validator.$jsonSchema.anyOf[0].properties.name.maxLength = 255n;
    const changeType = (db: Db) => db.command({ collMod: 'pets', validator });
    expect(await findingsAfter(database, changeType)).toStrictEqual([]);
  });
});
