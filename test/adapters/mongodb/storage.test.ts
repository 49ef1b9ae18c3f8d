import { expect, it } from 'vitest';
import { mongodbStorage } from '../../../src/adapters/mongodb/storage.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { aPet } from '../../support/pets.ts';
import { storageHost } from '../../support/storage-host.ts';

const mongodb = mongodbStorage('petstore');
const SERVICE_OPTIONS = { autoMigrate: false, log: storageHost() };

it('a connection string with the name of a database selects the MongoDB storage', () => {
  expect(mongodb).toMatchObject({ urlForm: 'mongodb://HOST/DATABASE', persistent: true, shared: true });
  for (const url of [
    'mongodb://host/d',
    'mongodb+srv://me:se%40cret@host/d?tls=true',
    'mongodb://a:1,[::1]:2/d',
    'mongodb://host/d?appName=shop@home',
    'mongodb://me:x@a:1,b/d?tls=true&authMechanismProperties=SERVICE_NAME:a@B',
  ]) {
    expect(mongodb.isUrl(url)).toBe(true);
  }
});

const NOT_ENCODED =
  'must have its user and password percent-encoded: %40 for @, %3A for :, %25 for %, %3F for ?, %2F for /, %23 for #';
const NO_DATABASE = 'must end with the name of a database: mongodb://HOST/DATABASE';

it.each<readonly [url: string, problem: string | undefined]>([
  ['memory:', undefined],
  ['mongodb+other://host/d', undefined],
  ['the mongodb://host/d', undefined],
  ['mongodb://host', NO_DATABASE],
  ['mongodb://me:se%40cret@host:1,other:2/?tls=true', NO_DATABASE],
  ['mongodb+srv://host?a/d', NO_DATABASE],
  ['mongodb:///d', NO_DATABASE],
  ['mongodb://me:p@ss@host/d', NOT_ENCODED],
  ['mongodb://me@work:pass@host/d', NOT_ENCODED],
  ['mongodb://me:100%@host/d', NOT_ENCODED],
  ['mongodb://me:p?ss@host/d', NOT_ENCODED],
  ['mongodb://me:p?a=ss@host/d?appName=a@b', NOT_ENCODED],
  ['mongodb://me:p/ss@host/d', NOT_ENCODED],
  ['mongodb://me:1/2@host/d?tls=true', NOT_ENCODED],
  ['mongodb://me:p#ss@host/d', NOT_ENCODED],
  ['mongodb://me:p:ss@host/d', NOT_ENCODED],
])('the URL %s does not select MongoDB, and the reported problem has no password', (url, problem) => {
  expect([mongodb.isUrl(url), mongodb.urlProblem!(url)]).toStrictEqual([false, problem]);
});

it.skipIf(mongo === undefined)(
  `a MongoDB database is refused and stays empty until it is migrated, and can then be opened for each purpose without leaving a connection open${noMongo}`,
  async () => {
    const { url, db } = await freshDatabase(mongo!, { migrated: false });
    const countSockets = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const socketsBefore = countSockets();
    const refusal = `the database "${db.databaseName}" has no petstore schema; run: petstore migrate`;
    await expect(mongodb.openService(url, SERVICE_OPTIONS)).rejects.toThrow(refusal);
    // The message for a command mentions the URL, because DATABASE_URL may name a different database.
    const refusedCommand = mongodb.openForWriting(url, storageHost());
    await expect(refusedCommand).rejects.toThrow(`${refusal} URL, with the URL of that database`);
    expect(await db.listCollections().toArray()).toStrictEqual([]);
    expect(await mongodb.migrate!(url, storageHost())).toMatchObject({ to: 4 });

    const { pets, close } = await mongodb.openService(url, SERVICE_OPTIONS);
    await pets.insert(aPet());
    await close();
    const openForWriting = () => mongodb.openForWriting(url, storageHost());
    for (const open of [mongodb.openForReading, mongodb.openForChecking, openForWriting]) {
      const storage = await open(url);
      expect(await storage.archive.count(1n)).toBe(1);
      await storage.close();
    }
    const storage = await mongodb.openKeys(url, { mayCreate: false, log: storageHost() });
    expect(await storage.keys.list()).toStrictEqual([]);
    await storage.close();
    // The number is smaller than before if sockets of an earlier test have been closed meanwhile.
    await expect.poll(countSockets).toBeLessThanOrEqual(socketsBefore);
  },
);
