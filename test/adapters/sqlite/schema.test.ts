import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { migrateSchema, readVersion } from '../../../src/adapters/sqlite/schema.ts';
import { FIRST_SCHEMA_VERSION } from '../../../src/application/ports/storage-errors.ts';
import { aKey } from '../../support/api-keys.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import { rex } from '../../support/pets.ts';
import { countPets, newPath, newService, otherConnection } from '../../support/sqlite.ts';

const INVALID_INSTANTS = ['1.5', "'2026-01-01'", '-8640000000000001'];

/** For each column, values that the column refuses. */
const REFUSED_VALUES: Readonly<Record<string, readonly string[]>> = {
  'pets SET name': ['NULL', "x'00'"],
  'pets SET category_id': ['7.5'],
  'pets SET status': ["'Sold'"],
  'pets SET fingerprint': ['NULL'],
  'pets SET idempotency_key': ['NULL', 'zeroblob(31)'],
  'api_keys SET id': ['NULL', "'0123456789abcde'", 'zeroblob(16)'],
  'api_keys SET digest': ['NULL', 'zeroblob(33)', "'01234567890123456789012345678901'"],
  'api_keys SET label': ['NULL', "''", `'${'🐈'.repeat(65)}'`],
  'api_keys SET scopes': ['NULL', "'pets:read,pets:write'"],
  'api_keys SET created_at': ['NULL', ...INVALID_INSTANTS],
  'api_keys SET expires_at': INVALID_INSTANTS,
  'api_keys SET revoked_at': INVALID_INSTANTS,
  'api_keys SET last_used_at': INVALID_INSTANTS,
  'api_keys SET requests': ['600', '0, seconds = 60', '1000000001, seconds = 60', '600, seconds = 86401'],
};

it.each(
  Object.entries(REFUSED_VALUES).flatMap(([set, values]) => values.map((value) => `${set} = ${value}`)),
)('the tables refuse an invalid row from any program: %s', async (change) => {
  const { file, pets, keys } = await newService();
  await pets.insertOnce(rex, idempotencyFor('a'));
  await keys.insert(aKey(1, { label: '🐈'.repeat(64) }));

  expect(() => otherConnection(file).exec(`UPDATE ${change}`)).toThrow(/constraint|cannot store/);
});

it('the oldest schema version that migrateSchema can create equals the schema in a file of release 1.0.0', async () => {
  const [first, file] = [await newPath(), await newPath()];
  await copyFile(join(import.meta.dirname, '../../upgrade/fixtures/1.0.0/sqlite.db'), first);
  const db = otherConnection(file);
  migrateSchema(db, FIRST_SCHEMA_VERSION);

  const [expected, created] = [otherConnection(first), db].map((one) =>
    one.prepare('SELECT * FROM sqlite_schema').all(),
  );
  expect(created).toStrictEqual(expected);
});

it('migrateSchema makes all changes or none', async () => {
  const file = await newPath();
  await writeFile(file, '');
  const db = otherConnection(file);
  // The file looks like a new file of the service: it has our application id, and its version is 0. The migration
  // begins, and fails when it creates an index whose name is taken.
  db.exec(
    'PRAGMA application_id = 0x50455453; CREATE TABLE other (a); CREATE INDEX pets_by_status ON other (a)',
  );

  expect(() => migrateSchema(db)).toThrow('pets_by_status already exists');
  expect(db.isTransaction).toBe(false);
  expect(readVersion(db)).toBe(0);
  expect(() => countPets(db)).toThrow('no such table');
});
