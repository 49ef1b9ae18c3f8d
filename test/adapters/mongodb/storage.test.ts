import { describe, expect, it } from 'vitest';
import { mongodbStorage } from '../../../src/adapters/mongodb/storage.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { aPet } from '../../support/pets.ts';

const kind = mongodbStorage('petstore');
const SERVICE = { for: 'service', autoMigrate: false, log: { warn: () => {} } } as const;

it('is chosen by a connection string with a database', () => {
  expect(kind).toMatchObject({ urlForm: 'mongodb://HOST/DATABASE', persistent: true, shared: true });
  for (const url of ['mongodb://host/d', 'mongodb+srv://host/d?tls=true', 'mongodb://a:1,b:2/d']) {
    expect(kind.isUrl(url)).toBe(true);
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
  expect(kind.isUrl(url)).toBe(false);
});

describe.skipIf(mongo === undefined)(`a storage in MongoDB${leftOut}`, () => {
  it('is refused and left empty before it is migrated, and then opened in each way', async () => {
    const { url, db } = await freshDatabase(mongo!, { migrated: false });
    const refusal = `the database "${db.databaseName}" has no petstore schema; run: petstore migrate`;
    await expect(kind.open(url, SERVICE)).rejects.toThrow(refusal);
    expect(await db.listCollections().toArray()).toStrictEqual([]);
    expect(await kind.migrate!(url)).toMatchObject({ to: 4 });

    const { pets, close } = await kind.open(url, SERVICE);
    await pets.insert(aPet());
    await close();
    for (const purpose of ['reading', 'checking', 'writing'] as const) {
      const opened = await kind.open(url, { for: purpose });
      expect(await opened.archive.count(1n)).toBe(1);
      await opened.close();
    }
    const opened = await kind.open(url, { for: 'keys', mayCreate: false });
    expect(await opened.keys.list()).toStrictEqual([]);
    await opened.close();
  });
});
