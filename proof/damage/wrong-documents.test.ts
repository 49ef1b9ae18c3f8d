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
import { leftOut, mongo } from '../../test/support/shared-mongo.ts';
import { askAll, isEqualTo, type Question } from './ask-all.ts';
import { aPet } from '../../test/support/pets.ts';

const emptyDatabase = databasePool(() => mongo!);

const MISSING = Symbol('missing');

/** A value of each type, no two of them equal in an index: https://www.mongodb.com/docs/manual/reference/bson-types/ */
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

/** The first of two pets gets a value of its own. The second one stays as it is. */
const PETS = numbers(2 * Object.keys(VALUES).length).map((n) => ({
  id: BigInt(n + 1),
  ...aPet({ name: `pet ${n + 1}`, categoryId: BigInt(n + 1), status: 'sold' }),
}));
const ARCHIVED = PETS.map((pet) => ({ ...pet, idempotency: idempotencyFor(pet.name) }));

/** All but the last one get a value of their own. */
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

/** Gives a field of each document another value. @returns what was given, in the order of the documents */
async function setValues(db: Db, name: string, ids: readonly unknown[], field: string) {
  const values = Object.entries(VALUES);
  const updates = values.map(([, value], n) => ({
    updateOne: {
      filter: { _id: ids[n] as never },
      update: value === MISSING ? { $unset: { [field]: '' } } : { $set: { [field]: value } },
    },
  }));
  const { matchedCount } = await db.collection(name).bulkWrite(updates, { bypassDocumentValidation: true });
  expect(matchedCount).toBe(values.length);
  return values;
}

/** Gives a field of one document each of the values, one after the other. */
async function* setEachValue(db: Db, name: string, _id: unknown, field: string): AsyncGenerator<string> {
  for (const [type, value] of Object.entries(VALUES)) {
    const update: Document = value === MISSING ? { $unset: { [field]: '' } } : { $set: { [field]: value } };
    await db.collection(name).updateOne({ _id: _id as never }, update, { bypassDocumentValidation: true });
    yield type;
  }
}

/** Everything that can be asked about a pet. */
function questionsAbout(index: number, pets: PetRepository, archive: PetArchive): readonly Question[] {
  const { id, ...draft } = PETS[index]!;
  const page = { after: id - 1n, limit: 1 };
  const replay = () => pets.insertOnce(newPet(draft), idempotencyFor(draft.name));
  // A new method of the port does not compile until it is asked. The test itself inserts one more pet.
  const questionsByMethod: Readonly<Record<Exclude<keyof PetRepository, 'insert'>, readonly Question[]>> = {
    findById: [['pet', () => pets.findById(id), isEqualTo(PETS[index])]],
    list: [
      ['list', () => pets.list(page), isEqualTo([PETS[index]])],
      ['list sold', () => pets.list({ ...page, status: 'sold' }), isEqualTo([PETS[index]])],
    ],
    insertOnce: [['replay', replay, isEqualTo({ pet: PETS[index], replayed: true })]],
  };
  const archived: Question = ['archive', () => archive.read(page.after, 1), isEqualTo([ARCHIVED[index]])];
  return [...Object.values(questionsByMethod).flat(), archived];
}

/** What is stored is valid, and no reader can tell that it is another value. */
function isUnnoticeable(field: string, type: string, line: string): boolean {
  if (field === 'name' && type === 'string') return true;
  if (field === 'categoryId' && type.endsWith('long')) return true;
  // A record that has lost its key cannot be found by it.
  if (/^idem(\.k)?$/.test(field) && line.startsWith('replay')) return true;
  return field === 'idem' && type === 'missing';
}

describe.skipIf(mongo === undefined)(`a document with a field of another type${leftOut}`, () => {
  it.each(['name', 'categoryId', 'status', 'op', 'idem', 'idem.k', 'idem.fp', 'extra'])(
    'of a pet: %s',
    async (field) => {
      const { db, storage, reads } = await openDatabase();
      const [pets, archive] = [new MongoPetRepository(storage, reads), new MongoPetArchive(storage, reads)];
      await archive.write(ARCHIVED);
      const ids = PETS.filter((_, n) => n % 2 === 0).map(({ id }) => id);
      const judge = async ([type]: readonly [string, unknown], n: number) => {
        const { wrong } = await askAll(questionsAbout(2 * n, pets, archive));
        const noticeable = wrong.filter((line) => !isUnnoticeable(field, type, line));
        expect(noticeable, type).toStrictEqual([]);
      };
      // At once: they share round trips.
      await Promise.all((await setValues(db, 'pets', ids, field)).map(judge));
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
  ])('of an API key: %s', async (field) => {
    const { db, storage, reads } = await openDatabase();
    const keys = new MongoApiKeyRepository(storage, reads);
    const [first, ...others] = KEYS;
    await keys.insert(first!);
    const document = await db.collection('api_keys').findOne();
    await db.collection('api_keys').insertMany(others.map(({ id }) => ({ ...document, _id: id as never })));
    const ids = KEYS.map(({ id }) => id);
    const values = await setValues(db, 'api_keys', ids, field);
    const listed = await keys.list();

    expect(listed).toHaveLength(KEYS.length);
    expect(listed).toContainEqual(KEYS.at(-1));
    const judge = async ([type, value]: readonly [string, unknown], n: number) => {
      const isRight = (given: unknown) => isEqualTo(KEYS[n])(given) || isOtherValidValue(field, value, given);
      const inList = listed.find(({ id }) => id === ids[n]);
      const { wrong } = await askAll([
        ['key', () => keys.findById(ids[n]!), isRight],
        ['list', async () => inList, (given) => given instanceof DamagedApiKey || isRight(given)],
      ]);
      expect(wrong, `${field}: ${type}`).toStrictEqual([]);
    };
    await Promise.all(values.map(judge));
  });

  it('of a fence', async () => {
    const { db, storage, reads } = await openDatabase();
    await new MongoPetArchive(storage, reads).reserve(500n);
    for await (const type of setEachValue(db, 'pets', 500, 'upTo')) {
      const pets = new MongoPetRepository(storage, reads);
      expect(await pets.insert(aPet({ name: type })), type).toMatchObject({ id: 501n });
      await db.collection('pets').deleteOne({ _id: 501 as never });
    }
  });

  it('of the schema', async () => {
    const { url, db } = await freshDatabase(mongo!);
    const { client } = await openClient(url);
    for await (const type of setEachValue(db, 'schema', 'petstore', 'version')) {
      const stored = await readSchema(client.db());
      expect(versionProblem(stored, 'petstore', 'petstore migrate'), type).toContain('petstore');
    }
  });
});

/** A valid value that is not the stored one: no database can tell. */
function isOtherValidValue(field: string, value: unknown, given: unknown): boolean {
  if (given === undefined || given instanceof DamagedApiKey) return false;
  const isDate = value instanceof Date && field.endsWith('At');
  const isText = value === 'x' && field === 'label';
  const isNumber = field.startsWith('rateLimit.') && [2, 3, 5, 6].includes(Number(String(value)));
  const isOptional =
    value === MISSING && /^(?:(?:expires|revoked|lastUsed)At|rateLimit|originId)$/.test(field);
  return isDate || isText || isNumber || isOptional;
}

it.skipIf(mongo === undefined)(
  `a service adds no second pet with a key a second after its index is dropped, until a repair${leftOut}`,
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
    // Once the probe has seen it, nothing is stored.
    await expect(pets.insert(newPet(PETS[1]!))).rejects.toThrow('lacks the index "idem.k_1"');
    expect(await pets.findById(1n)).toStrictEqual(pet);

    await migrate(url);
    advance(1_000);
    expect(await insert()).toStrictEqual({ pet, replayed: true });
  },
);
