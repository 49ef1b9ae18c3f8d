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
import { migrate } from '../../src/adapters/mongodb/migrate.ts';
import { openMongoArchive, openMongoStorage } from '../../src/adapters/mongodb/open.ts';
import { DamagedApiKey, StorageSetupError } from '../../src/application/ports/storage-errors.ts';
import type { ApiKey } from '../../src/domain/api-key.ts';
import { newPet, type Pet } from '../../src/domain/pet.ts';
import { aKey, at } from '../support/api-keys.ts';
import { idempotencyFor } from '../support/archived-pets.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { databasePool, freshDatabase } from '../support/mongo-database.ts';
import { leftOut, mongo } from '../support/shared-mongo.ts';
import { askAll, is, type Question } from './ask-all.ts';

const emptyDatabase = databasePool(() => mongo!);

const MISSING = Symbol('missing');

/** A value of each type: https://www.mongodb.com/docs/manual/reference/bson-types/ */
const VALUES: Readonly<Record<string, unknown>> = {
  missing: MISSING,
  double: new Double(2),
  fraction: new Double(2.5),
  'not a number': new Double(Number.NaN),
  infinity: new Double(Number.POSITIVE_INFINITY),
  string: 'x',
  'empty string': '',
  object: { a: 1 },
  array: ['x'],
  'array of a long': [Long.fromNumber(1)],
  'empty array': [],
  binary: new Binary(Buffer.from('x')),
  uuid: new UUID(),
  objectId: new ObjectId(),
  boolean: true,
  date: new Date(1_797_000_000_000),
  null: null,
  regex: new BSONRegExp('x'),
  code: new Code('x'),
  int: new Int32(2),
  timestamp: new Timestamp(5n),
  long: Long.fromNumber(2),
  'negative long': Long.fromNumber(-2),
  'greatest long': Long.MAX_VALUE,
  decimal: Decimal128.fromString('2'),
  minKey: new MinKey(),
  maxKey: new MaxKey(),
};

const PETS = [1n, 2n, 3n].map((id) => ({ id, name: `pet ${id}`, categoryId: id, status: 'sold' as const }));
const KEYS = [
  aKey(1, {
    expiresAt: at(9),
    revokedAt: at(5),
    lastUsedAt: at(3),
    rateLimit: { requests: 5, seconds: 6 },
    originId: aKey(9).id,
  }),
  aKey(2),
];

/** A service on a database with three pets and two keys. */
async function filled() {
  const { url, db } = await emptyDatabase();
  const storage = await openMongoStorage(url, { autoMigrate: false });
  const { archive, close } = await openMongoArchive(url);
  onTestFinished(async () => {
    await storage.close();
    await close();
  });
  for (const { id: _, ...pet } of PETS) {
    await storage.pets.insertOnce(newPet(pet), idempotencyFor(pet.name));
  }
  for (const key of KEYS) await storage.keys.insert(key);
  return { ...storage, url, db, archive };
}

type Filled = Awaited<ReturnType<typeof filled>>;

/** Gives a field of a document each of the values, one after the other. The other fields are those of now. */
async function* eachValue(
  db: Db,
  name: string,
  _id: unknown,
  field: string,
): AsyncGenerator<[string, unknown]> {
  const collection = db.collection(name);
  const before = await collection.findOne({ _id: _id as never });
  const unchecked = { bypassDocumentValidation: true } as const;
  for (const [type, value] of Object.entries(VALUES)) {
    const filter = { _id: _id as never };
    const update: Document = value === MISSING ? { $unset: { [field]: '' } } : { $set: { [field]: value } };
    await collection.bulkWrite(
      [{ replaceOne: { filter, replacement: before! } }, { updateOne: { filter, update } }],
      unchecked,
    );
    yield [type, value];
  }
}

/** Everything that can be asked about the pets. Pets that were added later come after them. */
function questionsAboutPets({ pets, archive }: Filled): readonly Question[] {
  const archived = PETS.map((pet) => ({ ...pet, idempotency: idempotencyFor(pet.name) }));
  const limit = PETS.length;
  return [
    ['pet 2', () => pets.findById(2n), is(PETS[1])],
    ['list', () => pets.list({ limit }), is(PETS)],
    ['list sold', () => pets.list({ limit, status: 'sold' }), is(PETS)],
    ['archive', () => archive.read(0n, limit), is(archived)],
    [
      'replay',
      () => pets.insertOnce(newPet(PETS[1]!), idempotencyFor('pet 2')),
      is({ pet: PETS[1], replayed: true }),
    ],
    [
      'a new pet',
      () => pets.insert(newPet({ name: 'new', categoryId: 4n, status: 'sold' })),
      (added) => (added as Pet).id > PETS.at(-1)!.id,
    ],
  ];
}

/** Of pet 2: what is stored is valid, and no reader can tell that it is another value. */
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
      const storage = await filled();
      for await (const [type] of eachValue(storage.db, 'pets', 2n, field)) {
        const { wrong } = await askAll(questionsAboutPets(storage));
        // Otherwise a second pet with a key would keep the first one from getting it back.
        await storage.db.collection('pets').deleteMany({ _id: { $gt: 3n as never } });
        expect(
          wrong.filter((line) => !isUnnoticeable(field, type, line)),
          type,
        ).toStrictEqual([]);
      }
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
    const { keys, db } = await filled();
    for await (const [type, value] of eachValue(db, 'api_keys', KEYS[0]!.id, field)) {
      const isFirst = (given: unknown) => is(KEYS[0])(given) || isOther(field, value, given);
      const { wrong } = await askAll([
        ['key 1', () => keys.findById(KEYS[0]!.id), isFirst],
        ['key 2', () => keys.findById(KEYS[1]!.id), is(KEYS[1])],
        [
          'list',
          () => keys.list(),
          (given) => {
            // The order is that of `createdAt`.
            const listed = given as readonly ApiKey[];
            const first = listed.find(({ id }) => id === KEYS[0]!.id);
            const hasFirst = first instanceof DamagedApiKey || isFirst(first);
            return listed.length === 2 && listed.some(is(KEYS[1])) && hasFirst;
          },
        ],
      ]);
      expect(wrong, `${field}: ${type}`).toStrictEqual([]);
    }
  });

  it('of a fence', async () => {
    const { url, db, archive } = await filled();
    await archive.reserve(500n);
    for await (const [type] of eachValue(db, 'pets', 500, 'upTo')) {
      const { pets, close } = await openMongoStorage(url, { autoMigrate: false });
      expect(await pets.insert(newPet({ name: type, categoryId: 7n })), type).toMatchObject({ id: 501n });
      await close();
      await db.collection('pets').deleteOne({ _id: 501 as never });
    }
  });

  it('of the schema', async () => {
    const { url, db } = await freshDatabase(mongo!);
    for await (const [type] of eachValue(db, 'schema', 'petstore', 'version')) {
      const outcome = await openMongoStorage(url, { autoMigrate: false }).then(
        ({ close }) => close(),
        (error: unknown) => error,
      );
      expect(outcome, type).toBeInstanceOf(StorageSetupError);
    }
  });
});

/** A valid value that is not the stored one: no database can tell. */
function isOther(field: string, value: unknown, given: unknown): boolean {
  if (given === undefined || given instanceof DamagedApiKey) return false;
  const isDate = value instanceof Date && field.endsWith('At');
  const isText = value === 'x' && field === 'label';
  const isNumber = field.startsWith('rateLimit.') && Number(String(value)) === 2;
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
      message: 'the collection "pets" lacks the index "idem.k_1"; migrate the database again',
    });
    await expect(probe.check()).rejects.toThrow('lacks the index "idem.k_1"');
    expect(await pets.insert(newPet(PETS[1]!))).toMatchObject({ id: 2n });
    expect(await pets.findById(1n)).toStrictEqual(pet);

    await migrate(url);
    expect(await insert()).toStrictEqual({ pet, replayed: true });
  },
);
