import {
  Binary,
  BSONRegExp,
  Code,
  type Db,
  Decimal128,
  type Document,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
} from 'mongodb';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MongoApiKeyRepository } from '../../src/adapters/mongodb/api-key-repository.ts';
import { migrate } from '../../src/adapters/mongodb/migrate.ts';
import { openMongoStorage } from '../../src/adapters/mongodb/open.ts';
import { MongoPetArchive } from '../../src/adapters/mongodb/pet-archive.ts';
import { MongoPetRepository } from '../../src/adapters/mongodb/pet-repository.ts';
import { readSchema, versionProblem } from '../../src/adapters/mongodb/schema/schema-version.ts';
import type { PetArchive } from '../../src/application/ports/pet-archive.ts';
import type { PetRepository } from '../../src/application/ports/pet-repository.ts';
import { DamagedApiKey } from '../../src/application/ports/storage-errors.ts';
import { newPet } from '../../src/domain/pet.ts';
import { aKey, at } from '../../test/support/api-keys.ts';
import { idempotencyFor } from '../../test/support/archived-pets.ts';
import { fakeClock } from '../../test/support/fake-clock.ts';
import { databasePool, freshDatabase, openClient } from '../../test/support/mongo-database.ts';
import { numbers } from '../../test/support/numbers.ts';
import { noMongo, mongo } from '../../test/support/shared-mongo.ts';
import { askAll, isEqualTo, type Question } from './ask-all.ts';
import { aPet } from '../../test/support/pets.ts';

const emptyDatabase = databasePool(() => mongo!);

/** Stands for a field that is removed. */
const MISSING = Symbol('missing');

/**
 * At least one value of each BSON type: https://www.mongodb.com/docs/manual/reference/bson-types/
 * A unique index accepts all of them together, because no two values are equal.
 */
const VALUES: Readonly<Record<string, unknown>> = {
  missing: MISSING,
  double: new Double(2),
  fraction: new Double(2.5),
  'not a number': new Double(Number.NaN),
  infinity: new Double(Number.POSITIVE_INFINITY),
  string: 'x',
  'empty string': '',
  object: { a: 1 },
  array: ['y'],
  'array with a long': [Long.fromNumber(1)],
  'empty array': [],
  binary: new Binary(Buffer.from('x')),
  uuid: new UUID(),
  objectId: new ObjectId(),
  boolean: true,
  date: new Date(1_797_000_000_000),
  null: null,
  regex: new BSONRegExp('x'),
  code: new Code('x'),
  int: new Int32(3),
  timestamp: new Timestamp(7n),
  long: Long.fromNumber(6),
  'negative long': Long.fromNumber(-2),
  'greatest long': Long.MAX_VALUE,
  decimal: Decimal128.fromString('5'),
  minKey: new MinKey(),
  maxKey: new MaxKey(),
};

/** Two pets for each value. A test sets a field of the first pet to the value. The second pet stays unchanged. */
const PETS = numbers(2 * Object.keys(VALUES).length).map((n) => ({
  id: BigInt(n + 1),
  ...aPet({ name: `pet ${n + 1}`, categoryId: BigInt(n + 1), status: 'sold' }),
}));
const ARCHIVED_PETS = PETS.map((pet) => ({ ...pet, idempotency: idempotencyFor(pet.name) }));

/** An API key for each value, and a last key that stays unchanged. */
const KEYS = numbers(Object.keys(VALUES).length + 1).map((n) => ({
  ...aKey(n),
  digest: aKey().digest,
  label: 'key',
  createdAt: at(1),
  expiresAt: at(9),
  revokedAt: at(5),
  lastUsedAt: at(3),
  rateLimit: { requests: 5, seconds: 6 },
  originId: aKey(99).id,
}));

async function openDatabase() {
  const { url, db } = await emptyDatabase();
  const { client, reads } = await openClient(url, { maxPoolSize: 2 });
  return { db, storage: client.db(), reads };
}

/** Sets a field of each document to another value. @returns the names and the values, in the order of the documents */
async function setValues(db: Db, collection: string, ids: readonly unknown[], field: string) {
  const values = Object.entries(VALUES);
  const updates = values.map(([, value], n) => ({
    updateOne: {
      filter: { _id: ids[n] as never },
      update: value === MISSING ? { $unset: { [field]: '' } } : { $set: { [field]: value } },
    },
  }));
  const { matchedCount } = await db
    .collection(collection)
    .bulkWrite(updates, { bypassDocumentValidation: true });
  expect(matchedCount).toBe(values.length);
  return values;
}

/** Sets a field of one document to one value after the other. Yields the name of each value. */
async function* setEachValue(
  db: Db,
  collection: string,
  _id: unknown,
  field: string,
): AsyncGenerator<string> {
  for (const [valueName, value] of Object.entries(VALUES)) {
    const update: Document = value === MISSING ? { $unset: { [field]: '' } } : { $set: { [field]: value } };
    await db
      .collection(collection)
      .updateOne({ _id: _id as never }, update, { bypassDocumentValidation: true });
    yield valueName;
  }
}

/** All calls whose answer shows the pet with this index, and the right answers. */
function questionsAbout(index: number, pets: PetRepository, archive: PetArchive): readonly Question[] {
  const { id, ...draft } = PETS[index]!;
  const page = { after: id - 1n, limit: 1 };
  const replay = () => pets.insertOnce(newPet(draft), idempotencyFor(draft.name));
  // The type demands questions for each method of the port. The test itself calls `insert`.
  const questionsByMethod: Readonly<Record<Exclude<keyof PetRepository, 'insert'>, readonly Question[]>> = {
    findById: [['pet', () => pets.findById(id), isEqualTo(PETS[index])]],
    list: [
      ['list', () => pets.list(page), isEqualTo([PETS[index]])],
      ['list sold', () => pets.list({ ...page, status: 'sold' }), isEqualTo([PETS[index]])],
    ],
    insertOnce: [['replay', replay, isEqualTo({ pet: PETS[index], replayed: true })]],
  };
  const archiveQuestion: Question = [
    'archive',
    () => archive.read(page.after, 1),
    isEqualTo([ARCHIVED_PETS[index]]),
  ];
  return [...Object.values(questionsByMethod).flat(), archiveQuestion];
}

/** Whether the storage cannot notice the change, because the changed document is a valid pet. */
function isUnnoticeable(field: string, type: string, wrongAnswer: string): boolean {
  if (field === 'name' && type === 'string') return true;
  if (field === 'categoryId' && type.endsWith('long')) return true;
  // A pet whose Idempotency-Key has changed cannot be found by its old key.
  if (/^idem(\.k)?$/.test(field) && wrongAnswer.startsWith('replay')) return true;
  return field === 'idem' && type === 'missing';
}

describe.skipIf(mongo === undefined)(`a document with a field of another type${noMongo}`, () => {
  it.each(['name', 'categoryId', 'status', 'op', 'idem', 'idem.k', 'idem.fp', 'extra'])(
    'leads to no wrong answer about a pet when the field is %s',
    async (field) => {
      const { db, storage, reads } = await openDatabase();
      const [pets, archive] = [new MongoPetRepository(storage, reads), new MongoPetArchive(storage, reads)];
      await archive.write(ARCHIVED_PETS);
      const ids = PETS.filter((_, n) => n % 2 === 0).map(({ id }) => id);
      const askAboutPet = async ([type]: readonly [string, unknown], n: number) => {
        const { wrong } = await askAll(questionsAbout(2 * n, pets, archive));
        const noticeableAnswers = wrong.filter((wrongAnswer) => !isUnnoticeable(field, type, wrongAnswer));
        expect(noticeableAnswers, type).toStrictEqual([]);
      };
      // The questions are asked at the same time, because then they share round trips.
      await Promise.all((await setValues(db, 'pets', ids, field)).map(askAboutPet));
      const { id } = await pets.insert(aPet({ name: 'new', categoryId: 4n }));
      expect(id).toBeGreaterThan(PETS.at(-1)!.id);
    },
  );

  it.each([
    'label',
    'digest',
    'scopes',
    'createdAt',
    'expiresAt',
    'rateLimit',
    'rateLimit.requests',
    'rateLimit.seconds',
    'revokedAt',
    'lastUsedAt',
    'originId',
    'extra',
  ])('leads to no wrong answer about an API key when the field is %s', async (field) => {
    const { db, storage, reads } = await openDatabase();
    const keys = new MongoApiKeyRepository(storage, reads);
    const [firstKey, ...otherKeys] = KEYS;
    await keys.insert(firstKey!);
    const document = await db.collection('api_keys').findOne();
    await db
      .collection('api_keys')
      .insertMany(otherKeys.map(({ id }) => ({ ...document, _id: id as never })));
    const ids = KEYS.map(({ id }) => id);
    const values = await setValues(db, 'api_keys', ids, field);
    const listedKeys = await keys.list();

    expect(listedKeys).toHaveLength(KEYS.length);
    expect(listedKeys).toContainEqual(KEYS.at(-1));
    const askAboutKey = async ([type, value]: readonly [string, unknown], n: number) => {
      const isRight = (answer: unknown) =>
        isEqualTo(KEYS[n])(answer) || isOtherValidValue(field, value, answer);
      const listedKey = listedKeys.find(({ id }) => id === ids[n]);
      const { wrong } = await askAll([
        ['key', () => keys.findById(ids[n]!), isRight],
        ['list', async () => listedKey, (answer) => answer instanceof DamagedApiKey || isRight(answer)],
      ]);
      expect(wrong, `${field}: ${type}`).toStrictEqual([]);
    };
    await Promise.all(values.map(askAboutKey));
  });

  it('does not free the reserved ids when the field is upTo of a fence, the document that reserves them', async () => {
    const { db, storage, reads } = await openDatabase();
    await new MongoPetArchive(storage, reads).reserve(500n);
    for await (const type of setEachValue(db, 'pets', 500, 'upTo')) {
      const pets = new MongoPetRepository(storage, reads);
      expect(await pets.insert(aPet({ name: type })), type).toMatchObject({ id: 501n });
      await db.collection('pets').deleteOne({ _id: 501 as never });
    }
  });

  it('is a reported problem when the field is the version of the schema', async () => {
    const { url, db } = await freshDatabase(mongo!);
    const { client } = await openClient(url);
    for await (const type of setEachValue(db, 'schema', 'petstore', 'version')) {
      const stored = await readSchema(client.db());
      expect(versionProblem(stored, 'petstore', 'petstore migrate'), type).toContain('petstore');
    }
  });
});

/** Whether the answer shows the changed value, which is valid, so the storage cannot notice the change. */
function isOtherValidValue(field: string, value: unknown, answer: unknown): boolean {
  if (answer === undefined || answer instanceof DamagedApiKey) return false;
  const isDate = value instanceof Date && field.endsWith('At');
  const isText = value === 'x' && field === 'label';
  const isNumber = field.startsWith('rateLimit.') && [2, 3, 5, 6].includes(Number(String(value)));
  const isOptional =
    value === MISSING && /^(?:(?:expires|revoked|lastUsed)At|rateLimit|originId)$/.test(field);
  return isDate || isText || isNumber || isOptional;
}

it.skipIf(mongo === undefined)(
  `a service adds no pets from one second after the index of the Idempotency-Keys is dropped until a migration${noMongo}`,
  async () => {
    const { advance } = fakeClock();
    const { url, db } = await freshDatabase(mongo!);
    const { pets, probe, close } = await openMongoStorage(url, { autoMigrate: false });
    onTestFinished(close);
    const insert = () => pets.insertOnce(newPet(PETS[0]!), idempotencyFor('a'));
    const { pet } = await insert();
    await db.collection('pets').dropIndex('idem.k_1');
    advance(1_000);

    await expect(insert()).rejects.toMatchObject({
      kind: 'storage-unavailable',
      message: `in the database "${db.databaseName}" the collection "pets" lacks the index "idem.k_1"; run: petstore migrate`,
    });
    await expect(probe.check()).rejects.toThrow('lacks the index "idem.k_1"');
    // After the probe has noticed the missing index, even a pet without an Idempotency-Key is refused.
    await expect(pets.insert(newPet(PETS[1]!))).rejects.toThrow('lacks the index "idem.k_1"');
    expect(await pets.findById(1n)).toStrictEqual(pet);

    await migrate(url);
    advance(1_000);
    expect(await insert()).toStrictEqual({ pet, replayed: true });
  },
);
