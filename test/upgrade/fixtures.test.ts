import { readdirSync } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BSON, type CreateCollectionOptions, type Db, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { ask } from '../support/client.ts';
import { freshDatabase } from '../support/mongo-database.ts';
import { ROOT } from '../support/process.ts';
import { noMongo, mongo } from '../support/shared-mongo.ts';
import { newPath } from '../support/sqlite.ts';
import { nextBuild, runBuild } from './next-build.ts';

/** Databases that the build of each release has written, with `npm run write-fixture`. */
const FIXTURES = join(import.meta.dirname, 'fixtures');

const BUILDS: readonly (readonly [string, () => Promise<string>])[] = [
  ['this build', async () => ROOT],
  ['the next build', nextBuild],
];

type Stored = {
  /** The token of an API key with all scopes. */
  readonly key: string;
  readonly keys: readonly Document[];
  /** The greatest id that is assigned or reserved. New pets are assigned greater ids. */
  readonly upTo: number;
  readonly requests: readonly { idempotencyKey?: string; body: string; answer: string }[];
  /** The output of `petstore export`. */
  readonly pets: string;
};

/** Checks that the build in `root` reads everything that was stored, and answers repeated requests as before. */
async function expectEverythingKept(root: string, DATABASE_URL: string, stored: Stored): Promise<void> {
  const env = { DATABASE_URL, RATE_LIMIT: '99/1h' };
  const url = `${await runBuild(root, [], env).url()}/v1/pets`;
  const answerOf = (...args: readonly string[]) => runBuild(root, args, env).succeeded();
  expect(JSON.parse(await answerOf('keys', 'list', '--json'))).toStrictEqual(stored.keys);
  expect(await answerOf('export')).toBe(stored.pets);
  expect(await answerOf('check')).toMatch(/^checked \d+ pets and \d+ API keys\n$/);

  const { key, requests, upTo } = stored;
  expect((await ask(url, { key })).body).toBe(`[${requests.map(({ answer }) => answer).join()}]`);
  for (const { idempotencyKey, body, answer } of requests) {
    if (idempotencyKey === undefined) continue;
    const headers = { 'idempotency-key': idempotencyKey };
    const reply = await ask(url, { key, body, headers });
    expect([reply.status, reply.headers['idempotent-replayed'], reply.body]).toEqual([201, 'true', answer]);
    expect((await ask(url, { key, body: '{"name":"Tom","categoryId":7}', headers })).status).toBe(422);
  }
  const added = await ask(url, { key, body: '{"name":"Lora","categoryId":7}' });
  expect(added.body).toBe(`{"id":${upTo + 1},"name":"Lora","categoryId":7,"status":"available"}`);
}

type StoredCollection = {
  readonly name: string;
  readonly options: CreateCollectionOptions;
  readonly indexes: readonly Document[];
  readonly documents: readonly Document[];
};

async function restore(db: Db, { name, options, indexes, documents }: StoredCollection): Promise<void> {
  const collection = await db.createCollection(name, options);
  if (indexes.length > 0) await db.command({ createIndexes: name, indexes });
  if (documents.length > 0) await collection.insertMany([...documents]);
}

describe.each(readdirSync(FIXTURES))('everything that release %s has stored', (release) => {
  const fixture = (name: string) => join(FIXTURES, release, name);
  const stored = async (name: string): Promise<Stored> => JSON.parse(await readFile(fixture(name), 'utf8'));

  it.each(BUILDS)('in SQLite is still there when a service of %s has started', async (_, build) => {
    const file = await newPath();
    await copyFile(fixture('sqlite.db'), file);
    await expectEverythingKept(await build(), `sqlite:${file}`, await stored('sqlite.json'));
  });

  it.skipIf(mongo === undefined).each(BUILDS)(
    `in MongoDB is still there after petstore migrate of %s${noMongo}`,
    async (_, build) => {
      const { db, url } = await freshDatabase(mongo!, { migrated: false });
      const collections = BSON.EJSON.parse(await readFile(fixture('mongodb.ejson'), 'utf8'), {
        relaxed: false,
      }) as StoredCollection[];
      for (const collection of collections) await restore(db, collection);
      const root = await build();
      await runBuild(root, ['migrate', url]).succeeded();
      await expectEverythingKept(root, url, await stored('mongodb.json'));
      // Services on one database share the count of a key's requests. The count is in the database, so the requests
      // were counted there.
      expect(await db.collection('rate_limits').countDocuments()).toBe(1);
    },
  );
});
