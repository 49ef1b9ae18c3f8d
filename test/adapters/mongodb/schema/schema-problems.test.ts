import { runInNewContext } from 'node:vm';
import type { Db, Document, IndexSpecification } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { migrate } from '../../../../src/adapters/mongodb/migrate.ts';
import { StorageUnavailable } from '../../../../src/application/ports/storage-errors.ts';
import { findingsIn, freshDatabase, openService, setupErrorOf } from '../../../support/mongo-database.ts';
import { rex } from '../../../support/pets.ts';
import { noMongo, mongo } from '../../../support/shared-mongo.ts';

const recreatePets = (options: Document) => async (db: Db) => {
  await db.collection('pets').rename('pets_before');
  await db.createCollection('pets', options);
};
const addIndex = (collection: string, key: Document, options: Document) => (db: Db) =>
  db.collection(collection).createIndex(key, { name: 'mine', ...options }, {});
const modifyPets = (options: Document) => (db: Db) => db.command({ collMod: 'pets', ...options });

// Commands for mongosh.
const COPY =
  'db.getCollection("pets").aggregate([{ $out: "pets_copy" }]); db.getCollection("pets").drop(); ' +
  'db.getCollection("pets_copy").renameCollection("pets")';
const UNSET =
  'db.runCommand({ collMod: "pets", validator: {}, validationLevel: "strict", validationAction: "error" })';
const DROP = 'db.getCollection("pets").dropIndex("mine")';
const TTL = { expireAfterSeconds: 3_600 } as const;
const HAS_MINE = 'has the index "mine", which petstore has not created and which';
const UNIQUE = { unique: true, partialFilterExpression: { 'idem.k': { $exists: true } } } as const;
const SOLD_ONLY = { partialFilterExpression: { status: 'sold' } };
const STATUS_KEY = { status: 1, _id: 1 } as const;

type Damage = readonly [what: string, damage: (db: Db) => Promise<unknown>, problem: string, command: string];

/** Replaces a required index by an index that has the same name or the same key, and that still does not fit. */
function replaceIndex(index: string, what: string, key: IndexSpecification, options: Document = {}): Damage {
  const { name = index } = options;
  const collection = index === 'key_1' ? 'rate_limits' : 'pets';
  const damage = async (db: Db) => {
    await db.collection(collection).dropIndex(index);
    await db.collection(collection).createIndex(key, { name, ...options }, {});
  };
  const otherDefinition = `has an index "${index}" with another definition`;
  const problems: Readonly<Record<string, string>> = {
    'that is hidden': `hides the index "${index}"`,
    'with a different name': `has the index "mine" in the place of "${index}"`,
  };
  const method = what === 'that is hidden' ? 'unhideIndex' : 'dropIndex';
  const command = `db.getCollection("${collection}").${method}("${name}")`;
  return [`an index ${what} instead of "${index}"`, damage, problems[what] ?? otherDefinition, command];
}

/** Changes that lose, refuse or reorder pets, or make lists slow. */
const DAMAGES: readonly Damage[] = [
  [
    'a capped collection',
    recreatePets({ capped: true, size: 4_096 }),
    'is capped, so it deletes its oldest documents',
    COPY,
  ],
  ['a time series', recreatePets({ timeseries: { timeField: 'at' } }), 'is a timeseries', COPY],
  ['a view', recreatePets({ viewOn: 'pets_before' }), 'is a view', COPY],
  [
    'a collation',
    recreatePets({ collation: { locale: 'de' } }),
    'has a collation, which compares text in another way',
    COPY,
  ],
  [
    'documents that expire',
    recreatePets({ clusteredIndex: { key: { _id: 1 }, unique: true }, ...TTL }),
    'deletes documents after a time',
    'db.runCommand({ collMod: "pets", expireAfterSeconds: "off" })',
  ],
  ['a TTL index', addIndex('pets', { at: 1 }, TTL), `${HAS_MINE} deletes documents`, DROP],
  [
    'an extra unique index',
    addIndex('pets', { name: 1 }, { unique: true }),
    `${HAS_MINE} refuses documents`,
    DROP,
  ],
  [
    'an extra hidden unique index on rate limit counts',
    addIndex('rate_limits', { points: 1 }, { unique: true, hidden: true }),
    `${HAS_MINE} refuses documents`,
    DROP.replace('pets', 'rate_limits'),
  ],
  [
    'the validator of a different program',
    modifyPets({ validator: { owner: { $exists: true } } }),
    'has another validator',
    UNSET,
  ],
  replaceIndex('idem.k_1', 'of all pets', { 'idem.k': 1 }, { unique: true, sparse: true }),
  replaceIndex('idem.k_1', 'that is hidden', { 'idem.k': 1 }, { ...UNIQUE, hidden: true }),
  replaceIndex('status_1__id_1', 'with its fields in the opposite order', { _id: 1, status: 1 }),
  replaceIndex('status_1__id_1', 'with descending ids', { status: 1, _id: -1 }),
  replaceIndex('status_1__id_1', 'of sold pets', STATUS_KEY, SOLD_ONLY),
  replaceIndex('status_1__id_1', 'that is sparse', STATUS_KEY, { sparse: true }),
  replaceIndex('status_1__id_1', 'with a collation', STATUS_KEY, { collation: { locale: 'de' } }),
  replaceIndex('status_1__id_1', 'with a different name', STATUS_KEY, { name: 'mine' }),
  replaceIndex('key_1', 'that is not unique', { key: 1 }),
];

async function schemaOf(db: Db) {
  const collections = await db.listCollections({}, { nameOnly: false }).toArray();
  const names = collections.filter(({ type }) => type !== 'view').map(({ name }) => name);
  return { collections, indexes: await Promise.all(names.map((name) => db.collection(name).indexes())) };
}

/** Runs the commands that a message tells an operator to run in mongosh. */
async function runInMongosh(db: Db, commands: string): Promise<void> {
  const getCollection = (name: string) => ({
    aggregate: (stages: Document[]) => db.collection(name).aggregate(stages).toArray(),
    drop: () => db.collection(name).drop(),
    dropIndex: (index: string) => db.collection(name).dropIndex(index),
    unhideIndex: (index: string) => db.command({ collMod: name, index: { name: index, hidden: false } }),
    renameCollection: (to: string) => db.collection(name).rename(to),
  });
  const globals = { db: { getCollection, runCommand: (command: Document) => db.command(command) } };
  for (const command of commands.split('; ')) await runInNewContext(command, globals);
}

describe.skipIf(mongo === undefined)(`a schema in MongoDB that an operator has changed${noMongo}`, () => {
  it.each(DAMAGES)('is refused with a repair command if it has %s', async (_, damage, problem, command) => {
    const { url, db } = await freshDatabase(mongo!);
    await damage(db);
    const [, collection = ''] = /"(pets|api_keys|rate_limits)"/.exec(command) ?? [];
    const schemaBefore = await schemaOf(db);

    const line = await setupErrorOf(openService(url));
    expect(line).toContain(`in the database "${db.databaseName}" the collection "${collection}" ${problem}`);
    expect(line).toContain(`; stop the services, run in mongosh: ${command}; then run: petstore migrate`);
    const migrateLine = await setupErrorOf(migrate(url));
    expect(migrateLine).toContain(`the collection "${collection}" ${problem}`);
    expect(migrateLine).toContain(command);
    expect(await findingsIn(url)).toContainEqual(
      `collection "${collection}": it ${problem}; run in mongosh: ${command}`,
    );
    expect(await schemaOf(db)).toStrictEqual(schemaBefore);

    await runInMongosh(db, command);
    await Promise.all([migrate(url), migrate(url)]);
    const { pets } = await openService(url);
    expect(await pets.insert(rex)).toMatchObject({ id: 1n });
    expect(await findingsIn(url)).toStrictEqual([]);
  });

  it.each<readonly [string, (db: Db) => Promise<unknown>, readonly string[]]>([
    ['an extra plain index', addIndex('pets', { name: 1 }, {}), []],
    ['an extra partial index', addIndex('pets', { name: 1 }, SOLD_ONLY), []],
    ['no validator', modifyPets({ validator: {} }), ['collection "pets": it lacks its validator']],
    [
      'a validator that only warns',
      modifyPets({ validationAction: 'warn' }),
      [`collection "pets": it has another validator; run in mongosh: ${UNSET}`],
    ],
    [
      'a validator that checks only some changes',
      modifyPets({ validationLevel: 'moderate' }),
      [`collection "pets": it has another validator; run in mongosh: ${UNSET}`],
    ],
    [
      'no index that deletes old rate limit counts',
      (db) => db.collection('rate_limits').dropIndex('expire_-1'),
      ['collection "rate_limits": it lacks the index "expire_-1"'],
    ],
  ])('does not prevent the start of a service if it has %s', async (_, change, expected) => {
    const { url, db } = await freshDatabase(mongo!);
    await change(db);

    const { probe } = await openService(url);
    await probe.check();
    expect(await findingsIn(url)).toStrictEqual(expected);
  });

  it('makes inserts fail when the probe has found no collection of pets, until the collection exists again', async () => {
    const { url, db, pets: documents } = await freshDatabase(mongo!);
    const { pets, probe } = await openService(url);
    await pets.insert(rex);
    await documents.rename('pets_away');
    await expect(probe.check()).rejects.toThrow('the collection "pets" is missing');

    await expect(pets.insert(rex)).rejects.toThrow(StorageUnavailable);
    await expect(pets.insert(rex)).rejects.toThrow('the collection "pets" is missing');
    expect(await db.listCollections({ name: 'pets' }).toArray()).toStrictEqual([]);
    await db.collection('pets_away').rename('pets');
    await expect
      .poll(() => pets.insert(rex).catch(() => undefined), { timeout: 10_000 })
      .toMatchObject({ id: 2n });
  });
});
