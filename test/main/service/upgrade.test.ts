import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BSON, type CreateCollectionOptions, type Db, type Document } from 'mongodb';
import { expect, it } from 'vitest';
import { SCHEMA } from '../../../src/adapters/mongodb/schema/collection-plans.ts';
import { SCHEMA_VERSION as SQLITE_VERSION } from '../../../src/adapters/sqlite/schema.ts';
import { succeeds } from '../../support/command.ts';
import { ask } from '../../support/client.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { ROOT } from '../../support/process.ts';
import { startService } from '../../support/service.ts';
import { newFile } from '../../support/sqlite.ts';

/*
 * What the services of every schema version have stored, by running them. A new version needs one more file.
 *
 * | storage | version | commit | pets with an idempotency key | API keys |
 * |---|---|---|---|---|
 * | SQLite | 4 | 5d80a3e | 1 and 2 | a reader that a rotation made, and a revoked one |
 * | MongoDB | 4 | 73589e0 | 2 | a reader, and a revoked one |
 *
 * The pets were added over HTTP, the keys with the command line. The id 4 must not be given again. In SQLite a pet had
 * it, which was removed from the storage. In MongoDB it was reserved.
 */
const SQLITE_FILES = join(ROOT, 'test/adapters/sqlite/schema-versions');
const MONGODB_FILES = join(ROOT, 'test/adapters/mongodb/schema-versions');

const KEY = 'the-key-of-the-fixtures';

const MITZI = '{"name":"Mitzi 🐈","categoryId":9223372036854775807,"status":"pending"}';
const PETS = [
  '{"id":1,"name":"Rex","categoryId":7,"status":"available"}',
  `{"id":2,${MITZI.slice(1)}`,
  '{"id":3,"name":" e\u0301 ","categoryId":-9223372036854775808,"status":"sold"}',
];

function versions(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Checks that a service on a storage of an earlier version has everything that was stored there. */
async function expectEverythingKept(DATABASE_URL: string): Promise<void> {
  const service = await startService({ DATABASE_URL, API_KEYS: `shop=${KEY}`, RATE_LIMIT: '99/1h' });
  const url = `${service.url}/v1/pets`;
  expect((await ask(url, { key: KEY })).body).toBe(`[${PETS.join()}]`);

  const added = await ask(url, { key: KEY, body: '{"name":"Lora","categoryId":7}' });
  expect(added.body).toBe('{"id":5,"name":"Lora","categoryId":7,"status":"available"}');

  const headers = { 'idempotency-key': 'mitzi-1' };
  const again = await ask(url, { key: KEY, body: MITZI, headers });
  expect([again.status, again.headers['idempotent-replayed'], again.body]).toStrictEqual([
    201,
    'true',
    PETS[1],
  ]);
  const other = await ask(url, { key: KEY, body: '{"name":"Tom","categoryId":7}', headers });
  expect(other.status).toBe(422);

  const { stdout } = await succeeds(['keys', 'list', '--json'], { DATABASE_URL });
  const keys = (JSON.parse(stdout) as Document[]).map(({ label, state, scopes, expiresAt, rateLimit }) => {
    return { label, state, scopes, expires: expiresAt !== null, rateLimit };
  });
  expect(keys).toStrictEqual([
    { label: 'reader', state: 'active', scopes: ['pets:read'], expires: false, rateLimit: '600/60s' },
    {
      label: 'till-3',
      state: 'revoked',
      scopes: ['pets:read', 'pets:write'],
      expires: true,
      rateLimit: null,
    },
  ]);
}

it.each(versions(4, SQLITE_VERSION))(
  'a SQLite file of schema version %i is opened by the start of a service, which has everything that was stored',
  async (version) => {
    const file = await newFile();
    await copyFile(join(SQLITE_FILES, `${version}.db`), file);

    await expectEverythingKept(`sqlite:${file}`);
  },
);

type StoredCollection = {
  readonly name: string;
  readonly options: CreateCollectionOptions;
  readonly indexes: readonly Document[];
  readonly documents: readonly Document[];
};

async function storedCollections(version: number): Promise<readonly StoredCollection[]> {
  const text = await readFile(join(MONGODB_FILES, `${version}.json`), 'utf8');
  return BSON.EJSON.parse(text, { relaxed: false }) as StoredCollection[];
}

async function store(db: Db, { name, options, indexes, documents }: StoredCollection): Promise<void> {
  const collection = await db.createCollection(name, options);
  if (indexes.length > 0) await db.command({ createIndexes: name, indexes });
  if (documents.length > 0) await collection.insertMany([...documents]);
}

it.skipIf(mongo === undefined).each(versions(4, SCHEMA.version))(
  `petstore migrate migrates a MongoDB database of schema version %i, and a service has everything that was stored${leftOut}`,
  async (version) => {
    const { db, url } = await freshDatabase(mongo!, { migrated: false });
    for (const collection of await storedCollections(version)) await store(db, collection);

    const { stdout } = await succeeds(['migrate', url, '--json']);

    const database = db.databaseName;
    expect(JSON.parse(stdout)).toStrictEqual({ database, from: version, to: SCHEMA.version });
    await expectEverythingKept(url);
    // Services on one database count the requests of a key together.
    expect(await db.collection('rate_limits').countDocuments()).toBe(1);
  },
);

it.skipIf(mongo === undefined)(`AUTO_MIGRATE lets a service migrate a database${leftOut}`, async () => {
  const { url: DATABASE_URL } = await freshDatabase(mongo!, { migrated: false });
  await expect(startService({ DATABASE_URL })).rejects.toThrow('petstore migrate');
  const { url } = await startService({ DATABASE_URL, AUTO_MIGRATE: 'true' });
  expect((await ask(`${url}/readyz`)).status).toBe(200);
});
