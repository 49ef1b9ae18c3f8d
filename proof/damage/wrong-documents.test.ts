import {
  Binary,
  BSONRegExp,
  Code,
  type Collection,
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

/** With this value, a test removes the field. */
const MISSING = Symbol('missing');

/**
 * At least one value of each BSON type: https://www.mongodb.com/docs/manual/reference/bson-types/
 * No two values are equal, so a field with a unique index can have all of them, each in another document.
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

/** Two pets for each value. A test sets a field of the first pet to the value, and the second pet stays unchanged. */
const PETS = numbers(2 * Object.keys(VALUES).length).map((n) => ({
  id: BigInt(n + 1),
  ...aPet({ name: `pet ${n + 1}`, categoryId: BigInt(n + 1), status: 'sold' }),
}));
const ARCHIVED_PETS = PETS.map((pet) => ({ ...pet, idempotency: idempotencyFor(pet.name) }));

/** An API key for each value, and a last key that stays unchanged. The list of keys must show the last key. */
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

/** Sets a field of the n-th document to the n-th value. Returns the names of the values and the values. */
async function setValues(collection: Collection, ids: readonly unknown[], field: string) {
  const values = Object.entries(VALUES);
  const updates = values.map(([, value], n) => ({
    updateOne: {
      filter: { _id: ids[n] as never },
      update: value === MISSING ? { $unset: { [field]: '' } } : { $set: { [field]: value } },
    },
  }));
  const { matchedCount } = await collection.bulkWrite(updates, { bypassDocumentValidation: true });
  expect(matchedCount).toBe(values.length);
  return values;
}

/** Sets a field of one document to one value after the other. Yields the name of each value. */
async function* setEachValue(collection: Collection, _id: unknown, field: string): AsyncGenerator<string> {
  for (const [valueName, value] of Object.entries(VALUES)) {
    const update: Document = value === MISSING ? { $unset: { [field]: '' } } : { $set: { [field]: value } };
    await collection.updateOne({ _id: _id as never }, update, { bypassDocumentValidation: true });
    yield valueName;
  }
}

/** All calls that should answer with the pet `PETS[index]`, and checks of their answers. */
function questionsAbout(index: number, pets: PetRepository, archive: PetArchive): readonly Question[] {
  const { id, ...draft } = PETS[index]!;
  const page = { after: id - 1n, limit: 1 };
  const replay = () => pets.insertOnce(newPet(draft), idempotencyFor(draft.name));
  // With the type `Record`, the compiler reports a method of the port that has no questions. A test calls `insert`.
  const questionsByMethod: Readonly<Record<Exclude<keyof PetRepository, 'insert'>, readonly Question[]>> = {
    findById: [['pet', () => pets.findById(id), isEqualTo(PETS[index])]],
    list: [
      ['list', () => pets.list(page), isEqualTo([PETS[index]])],
      ['list sold', () => pets.list({ ...page, status: 'sold' }), isEqualTo([PETS[index]])],
    ],
    insertOnce: [['replay', replay, isEqualTo({ pet: PETS[index], replayed: true })]],
  };
  const question: Question = ['export', () => archive.read(page.after, 1), isEqualTo([ARCHIVED_PETS[index]])];
  return [...Object.values(questionsByMethod).flat(), question];
}

/** Whether the storage cannot notice the change, because the changed document is a valid pet. */
function isUnnoticeable(field: string, valueName: string, wrongAnswer: string): boolean {
  if (field === 'name' && valueName === 'string') return true;
  if (field === 'categoryId' && valueName.endsWith('long')) return true;
  // A pet with another Idempotency-Key is not found by the old key, so a replay with the old key adds a new pet.
  if (/^idem(\.k)?$/.test(field) && wrongAnswer.startsWith('replay')) return true;
  return field === 'idem' && valueName === 'missing';
}

describe.skipIf(mongo === undefined)(`a MongoDB document with a changed field${noMongo}`, () => {
  it.each(['name', 'categoryId', 'status', 'op', 'idem', 'idem.k', 'idem.fp', 'extra'])(
    'leads to no wrong answer about a pet when the field %s has changed',
    async (field) => {
      const { db, storage, reads } = await openDatabase();
      const [pets, archive] = [new MongoPetRepository(storage, reads), new MongoPetArchive(storage, reads)];
      await archive.write(ARCHIVED_PETS);
      const ids = PETS.filter((_, n) => n % 2 === 0).map(({ id }) => id);
      const askAboutPet = async ([valueName]: readonly [string, unknown], n: number) => {
        const { wrong } = await askAll(questionsAbout(2 * n, pets, archive));
        const noticeableAnswers = wrong.filter((answer) => !isUnnoticeable(field, valueName, answer));
        expect(noticeableAnswers, valueName).toStrictEqual([]);
      };
      // Calls at the same time share round trips to MongoDB, so the test takes less time.
      await Promise.all((await setValues(db.collection('pets'), ids, field)).map(askAboutPet));
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
  ])('leads to no wrong answer about an API key when the field %s has changed', async (field) => {
    const { db, storage, reads } = await openDatabase();
    const keys = new MongoApiKeyRepository(storage, reads);
    const [firstKey, ...otherKeys] = KEYS;
    await keys.insert(firstKey!);
    const collection = db.collection('api_keys');
    const document = await collection.findOne();
    await collection.insertMany(otherKeys.map(({ id }) => ({ ...document, _id: id as never })));
    const ids = KEYS.map(({ id }) => id);
    const values = await setValues(collection, ids, field);
    const listedKeys = await keys.list();

    expect(listedKeys).toHaveLength(KEYS.length);
    expect(listedKeys).toContainEqual(KEYS.at(-1));
    const askAboutKey = async ([valueName, value]: readonly [string, unknown], n: number) => {
      const isRight = (answer: unknown) => isEqualTo(KEYS[n])(answer) || isValidChange(field, value, answer);
      const listedKey = listedKeys.find(({ id }) => id === ids[n]);
      const { wrong } = await askAll([
        ['key', () => keys.findById(ids[n]!), isRight],
        ['list', async () => listedKey, (answer) => answer instanceof DamagedApiKey || isRight(answer)],
      ]);
      expect(wrong, `${field}: ${valueName}`).toStrictEqual([]);
    };
    await Promise.all(values.map(askAboutKey));
  });

  // A fence is a document that reserves all ids up to `upTo`. Its own id is 500 here, so 500 stays reserved.
  it('leads to no new pet with a reserved id when the field upTo of a fence has changed', async () => {
    const { db, storage, reads } = await openDatabase();
    await new MongoPetArchive(storage, reads).reserve(500n);
    for await (const valueName of setEachValue(db.collection('pets'), 500, 'upTo')) {
      const pets = new MongoPetRepository(storage, reads);
      expect(await pets.insert(aPet({ name: valueName })), valueName).toMatchObject({ id: 501n });
      await db.collection('pets').deleteOne({ _id: 501 as never });
    }
  });

  it('is reported as a problem when the version of the schema has changed', async () => {
    const { url, db } = await freshDatabase(mongo!);
    const { client } = await openClient(url);
    for await (const valueName of setEachValue(db.collection('schema'), 'petstore', 'version')) {
      const stored = await readSchema(client.db());
      expect(versionProblem(stored, 'petstore', 'petstore migrate'), valueName).toContain('petstore');
    }
  });
});

/** Whether the changed field is valid in an API key, so the storage cannot notice the change. */
function isValidChange(field: string, value: unknown, answer: unknown): boolean {
  if (answer === undefined || answer instanceof DamagedApiKey) return false;
  const isDate = value instanceof Date && field.endsWith('At');
  const isText = value === 'x' && field === 'label';
  const isNumber = field.startsWith('rateLimit.') && [2, 3, 5, 6].includes(Number(String(value)));
  const isOptional =
    value === MISSING && /^(?:(?:expires|revoked|lastUsed)At|rateLimit|originId)$/.test(field);
  return isDate || isText || isNumber || isOptional;
}

it.skipIf(mongo === undefined)(
  `a service whose index of Idempotency-Keys was dropped adds no pet before the next migration${noMongo}`,
  async () => {
    const { advance } = fakeClock();
    const { url, db } = await freshDatabase(mongo!);
    const { pets, probe, close } = await openMongoStorage(url, { autoMigrate: false });
    onTestFinished(close);
    const insert = () => pets.insertOnce(newPet(PETS[0]!), idempotencyFor('a'));
    const { pet } = await insert();
    await db.collection('pets').dropIndex('idem.k_1');
    // The service checks its indexes at most once per second.
    advance(1_000);

    await expect(insert()).rejects.toMatchObject({
      kind: 'storage-unavailable',
      message: `in the database "${db.databaseName}" the collection "pets" lacks the index "idem.k_1"; run: petstore migrate`,
    });
    await expect(probe.check()).rejects.toThrow('lacks the index "idem.k_1"');
    // After the probe has found that the index is missing, a pet without an Idempotency-Key is refused, too.
    await expect(pets.insert(newPet(PETS[1]!))).rejects.toThrow('lacks the index "idem.k_1"');
    expect(await pets.findById(1n)).toStrictEqual(pet);

    await migrate(url);
    advance(1_000);
    expect(await insert()).toStrictEqual({ pet, replayed: true });
  },
);
