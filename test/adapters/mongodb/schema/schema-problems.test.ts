import { runInNewContext } from 'node:vm';
import type { Db, Document, IndexSpecification } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { migrate } from '../../../../src/adapters/mongodb/migrate.ts';
import { StorageUnavailable } from '../../../../src/application/ports/storage-errors.ts';
import { findingsIn, freshDatabase, openService, refusal } from '../../../support/mongo-database.ts';
import { rex } from '../../../support/pets.ts';
import { leftOut, mongo } from '../../../support/shared-mongo.ts';

const remade = (how: Document) => async (db: Db) => {
  await db.collection('pets').rename('pets_before');
  await db.createCollection('pets', how);
};
const indexed = (name: string, key: Document, how: Document) => (db: Db) =>
  db.collection(name).createIndex(key, { name: 'mine', ...how }, {});
const modified = (how: Document) => (db: Db) => db.command({ collMod: 'pets', ...how });

const COPY =
  'db.getCollection("pets").aggregate([{ $out: "pets_copy" }]); db.getCollection("pets").drop(); ' +
  'db.getCollection("pets_copy").renameCollection("pets")';
const UNSET =
  'db.runCommand({ collMod: "pets", validator: {}, validationLevel: "strict", validationAction: "error" })';
const DROP = 'db.getCollection("pets").dropIndex("mine")';
const TTL = { expireAfterSeconds: 3_600 } as const;
const MINE = 'has the index "mine", which petstore has not created and which';
const UNIQUE = { unique: true, partialFilterExpression: { 'idem.k': { $exists: true } } } as const;
const WHOLE = { status: 1, _id: 1 } as const;

type Harm = readonly [what: string, harm: (db: Db) => Promise<unknown>, problem: string, command: string];

/** An index that has the planned name or definition but does not fit. */
function replaced(index: string, what: string, key: IndexSpecification, how: Document = {}): Harm {
  const { name = index } = how;
  const collection = index === 'key_1' ? 'rate_limits' : 'pets';
  const harm = async (db: Db) => {
    await db.collection(collection).dropIndex(index);
    await db.collection(collection).createIndex(key, { name, ...how }, {});
  };
  const another = `has an index "${index}" with another definition`;
  const problems: Readonly<Record<string, string>> = {
    hidden: `hides the index "${index}"`,
    'under another name': `has the index "mine" in the place of "${index}"`,
  };
  const method = what === 'hidden' ? 'unhideIndex' : 'dropIndex';
  const command = `db.getCollection("${collection}").${method}("${name}")`;
  return [`an index ${what}: ${index}`, harm, problems[what] ?? another, command];
}

/** What loses, refuses or reorders pets, or makes lists slow. */
const HARM: readonly Harm[] = [
  [
    'a capped collection',
    remade({ capped: true, size: 4_096 }),
    'is capped, so it deletes its oldest documents',
    COPY,
  ],
  ['a time series', remade({ timeseries: { timeField: 'at' } }), 'is a timeseries', COPY],
  ['a view', remade({ viewOn: 'pets_before' }), 'is a view', COPY],
  [
    'a collation',
    remade({ collation: { locale: 'de' } }),
    'has a collation, which compares text in another way',
    COPY,
  ],
  [
    'a collection whose documents expire',
    remade({ clusteredIndex: { key: { _id: 1 }, unique: true }, ...TTL }),
    'deletes documents after a time',
    'db.runCommand({ collMod: "pets", expireAfterSeconds: "off" })',
  ],
  ['a TTL index', indexed('pets', { at: 1 }, TTL), `${MINE} deletes documents`, DROP],
  ['a unique index', indexed('pets', { name: 1 }, { unique: true }), `${MINE} refuses documents`, DROP],
  [
    'a hidden unique index on rate limit counts',
    indexed('rate_limits', { points: 1 }, { unique: true, hidden: true }),
    `${MINE} refuses documents`,
    DROP.replace('pets', 'rate_limits'),
  ],
  [
    'a validator of another program',
    modified({ validator: { owner: { $exists: true } } }),
    'has another validator',
    UNSET,
  ],
  replaced('idem.k_1', 'of all pets', { 'idem.k': 1 }, { unique: true, sparse: true }),
  replaced('idem.k_1', 'hidden', { 'idem.k': 1 }, { ...UNIQUE, hidden: true }),
  replaced('status_1__id_1', 'the other way round', { _id: 1, status: 1 }),
  replaced('status_1__id_1', 'descending', { status: 1, _id: -1 }),
  replaced('status_1__id_1', 'partial', WHOLE, { partialFilterExpression: { status: 'sold' } }),
  replaced('status_1__id_1', 'sparse', WHOLE, { sparse: true }),
  replaced('status_1__id_1', 'with a collation', WHOLE, { collation: { locale: 'de' } }),
  replaced('status_1__id_1', 'under another name', WHOLE, { name: 'mine' }),
  replaced('key_1', 'not unique', { key: 1 }),
];

async function schemaOf(db: Db) {
  const collections = await db.listCollections({}, { nameOnly: false }).toArray();
  const names = collections.filter(({ type }) => type !== 'view').map(({ name }) => name);
  return { collections, indexes: await Promise.all(names.map((name) => db.collection(name).indexes())) };
}

/** Runs what a message tells an operator to run in mongosh. */
async function inMongosh(db: Db, commands: string): Promise<void> {
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

describe.skipIf(mongo === undefined)(`a schema in MongoDB that an operator has changed${leftOut}`, () => {
  it.each(HARM)('is refused, with the command that repairs it: %s', async (_, harm, problem, command) => {
    const { url, db } = await freshDatabase(mongo!);
    await harm(db);
    const [, collection = ''] = /"(pets|api_keys|rate_limits)"/.exec(command) ?? [];
    const before = await schemaOf(db);

    const line = await refusal(openService(url));
    expect(line).toContain(`in the database "${db.databaseName}" the collection "${collection}" ${problem}`);
    expect(line).toContain(`; stop the services, run in mongosh: ${command}; then run: petstore migrate`);
    const refused = await refusal(migrate(url));
    expect(refused).toContain(`the collection "${collection}" ${problem}`);
    expect(refused).toContain(command);
    expect(await findingsIn(url)).toContainEqual(
      `collection "${collection}": it ${problem}; run in mongosh: ${command}`,
    );
    expect(await schemaOf(db)).toStrictEqual(before);

    await inMongosh(db, command);
    await Promise.all([migrate(url), migrate(url)]);
    const { pets } = await openService(url);
    expect(await pets.insert(rex)).toMatchObject({ id: 1n });
    expect(await findingsIn(url)).toStrictEqual([]);
  });

  it.each<readonly [string, (db: Db) => Promise<unknown>, readonly string[]]>([
    ['a plain index', indexed('pets', { name: 1 }, {}), []],
    ['a partial index', indexed('pets', { name: 1 }, { partialFilterExpression: { status: 'sold' } }), []],
    ['no validator', modified({ validator: {} }), ['collection "pets": it lacks its validator']],
    [
      'a validator that only warns',
      modified({ validationAction: 'warn' }),
      [`collection "pets": it has another validator; run in mongosh: ${UNSET}`],
    ],
    [
      'a validator that checks some changes',
      modified({ validationLevel: 'moderate' }),
      [`collection "pets": it has another validator; run in mongosh: ${UNSET}`],
    ],
    [
      'no index that deletes old rate limit counts',
      (db) => db.collection('rate_limits').dropIndex('expire_-1'),
      ['collection "rate_limits": it lacks the index "expire_-1"'],
    ],
  ])('does not stop a service if the change is harmless: %s', async (_, change, expected) => {
    const { url, db } = await freshDatabase(mongo!);
    await change(db);

    const { probe } = await openService(url);
    await probe.check();
    expect(await findingsIn(url)).toStrictEqual(expected);
  });

  it('stops inserts once the probe has found the collection of pets missing, until it is there again', async () => {
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
