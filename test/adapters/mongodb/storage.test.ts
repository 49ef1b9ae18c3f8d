import { describe, expect, it } from 'vitest';
import { mongodbStorage } from '../../../src/adapters/mongodb/storage.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

const { parseUrl, ...kind } = mongodbStorage('petstore');
const options = { autoMigrate: false, log: { warn: () => {} } };

it('is chosen by a connection string with a database', () => {
  expect(kind).toStrictEqual({ urlForm: 'mongodb://HOST/DATABASE', persistent: true });
  for (const url of ['mongodb://host/d', 'mongodb+srv://host/d?tls=true', 'mongodb://a:1,b:2/d']) {
    expect(parseUrl(url)).toMatchObject({ persistent: true, shared: true });
  }
});

it.each([
  'memory:',
  'mongodb://host',
  'mongodb://host/',
  'mongodb://host/?tls=true',
  'mongodb://host?a/d',
  'mongodb:///d',
  'mongodb+other://host/d',
  'the mongodb://host/d',
])('is not chosen by %s', (url) => {
  expect(parseUrl(url)).toBeUndefined();
});

describe.skipIf(mongo === undefined)(`a storage in MongoDB${leftOut}`, () => {
  it('is migrated, and opened in each way', async () => {
    const { url, db } = await freshDatabase(mongo!, { migrated: false });
    const storage = parseUrl(url)!;
    if (!('migrate' in storage)) throw new Error('it has no migration');
    const refusal = `the database "${db.databaseName}" has no petstore schema; run: petstore migrate`;
    await expect(storage.openForService(options)).rejects.toThrow(refusal);
    await expect(storage.openKeys({ mayCreate: true })).rejects.toThrow(refusal);
    expect(await storage.migrate?.()).toMatchObject({ to: 4 });

    const { pets, close } = await storage.openForService(options);
    await pets.insert(newPet({ name: 'Rex', categoryId: 7n }));
    await close();
    for (const open of [storage.openForReading, storage.openForChecking!, storage.openForWriting]) {
      const opened = await open();
      expect(await opened.archive.count(1n)).toBe(1);
      await opened.close();
    }
    const opened = await storage.openKeys({ mayCreate: false });
    expect(await opened.keys.list()).toStrictEqual([]);
    await opened.close();
  });
});
