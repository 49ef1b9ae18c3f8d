import { expect, it } from 'vitest';
import { mongodbStorage } from '../../../src/adapters/mongodb/storage.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { aPet } from '../../support/pets.ts';
import { storageHost } from '../../support/storage-host.ts';

const kind = mongodbStorage('petstore');
const SERVICE = { autoMigrate: false, log: storageHost() };

it('the MongoDB storage is chosen by a connection string with a database', () => {
  expect(kind).toMatchObject({ urlForm: 'mongodb://HOST/DATABASE', persistent: true, shared: true });
  for (const url of [
    'mongodb://host/d',
    'mongodb+srv://me:se%40cret@host/d?tls=true',
    'mongodb://a:1,[::1]:2/d',
    'mongodb://host/d?appName=shop@home',
    'mongodb://me:x@a:1,b/d?tls=true&authMechanismProperties=SERVICE_NAME:a@B',
  ]) {
    expect(kind.isUrl(url)).toBe(true);
  }
});

const ENCODED =
  'must have its user and password percent-encoded: %40 for @, %3A for :, %25 for %, %3F for ?, %2F for /, %23 for #';
const NAMED = 'must end with the name of a database: mongodb://HOST/DATABASE';

it.each<readonly [url: string, problem: string | undefined]>([
  ['memory:', undefined],
  ['mongodb+other://host/d', undefined],
  ['the mongodb://host/d', undefined],
  ['mongodb://host', NAMED],
  ['mongodb://me:se%40cret@host:1,other:2/?tls=true', NAMED],
  ['mongodb+srv://host?a/d', NAMED],
  ['mongodb:///d', NAMED],
  ['mongodb://me:p@ss@host/d', ENCODED],
  ['mongodb://me@work:pass@host/d', ENCODED],
  ['mongodb://me:100%@host/d', ENCODED],
  ['mongodb://me:p?ss@host/d', ENCODED],
  ['mongodb://me:p?a=ss@host/d?appName=a@b', ENCODED],
  ['mongodb://me:p/ss@host/d', ENCODED],
  ['mongodb://me:1/2@host/d?tls=true', ENCODED],
  ['mongodb://me:p#ss@host/d', ENCODED],
  ['mongodb://me:p:ss@host/d', ENCODED],
])('the MongoDB storage is not chosen by %s, whose problem is named without a password', (url, problem) => {
  expect([kind.isUrl(url), kind.urlProblem!(url)]).toStrictEqual([false, problem]);
});

it.skipIf(mongo === undefined)(
  `a database of MongoDB is refused and left empty until it is migrated, then can be opened in each way, and no connection remains${leftOut}`,
  async () => {
    const { url, db } = await freshDatabase(mongo!, { migrated: false });
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const before = sockets();
    const refusal = `the database "${db.databaseName}" has no petstore schema; run: petstore migrate`;
    await expect(kind.openService(url, SERVICE)).rejects.toThrow(refusal);
    // DATABASE_URL may name another one.
    const ofCommand = kind.openForWriting(url, storageHost());
    await expect(ofCommand).rejects.toThrow(`${refusal} URL, with the URL of that database`);
    expect(await db.listCollections().toArray()).toStrictEqual([]);
    expect(await kind.migrate!(url, storageHost())).toMatchObject({ to: 4 });

    const { pets, close } = await kind.openService(url, SERVICE);
    await pets.insert(aPet());
    await close();
    const openForWriting = () => kind.openForWriting(url, storageHost());
    for (const open of [kind.openForReading, kind.openForChecking, openForWriting]) {
      const opened = await open(url);
      expect(await opened.archive.count(1n)).toBe(1);
      await opened.close();
    }
    const opened = await kind.openKeys(url, { mayCreate: false, log: storageHost() });
    expect(await opened.keys.list()).toStrictEqual([]);
    await opened.close();
    // Fewer, if those of an earlier test were just closing.
    await expect.poll(sockets).toBeLessThanOrEqual(before);
  },
);
