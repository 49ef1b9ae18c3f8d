import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, fileOf } from '../../../src/adapters/sqlite/connection.ts';
import { ReadableSqlitePetArchive } from '../../../src/adapters/sqlite/pet-archive.ts';
import { migrate, readVersion, SCHEMA_VERSION, versionProblem } from '../../../src/adapters/sqlite/schema.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { count, damage, newDatabase, newFile } from '../../support/sqlite.ts';

/** The rows to damage. */
const KEYED: Readonly<Record<string, string>> = { pets: 'WHERE idempotency_key IS NOT NULL', api_keys: '' };

describe('the table of pets', () => {
  it.each([
    ['no name', "NULL, 7, 'sold', NULL, NULL"],
    ['a name that is not text', "x'00', 7, 'sold', NULL, NULL"],
    ['a categoryId that is not an integer', "'Rex', 7.5, 'sold', NULL, NULL"],
    ['an unknown status', "'Rex', 7, 'Sold', NULL, NULL"],
    ['a key without a fingerprint', "'Rex', 7, 'sold', zeroblob(32), NULL"],
    ['a fingerprint without a key', "'Rex', 7, 'sold', NULL, zeroblob(32)"],
    ['a key that is too short', "'Rex', 7, 'sold', zeroblob(31), zeroblob(32)"],
  ])('refuses a row from any program: %s', async (_, values) => {
    const { db } = await newDatabase();

    expect(() =>
      db.exec(
        `INSERT INTO pets (name, category_id, status, idempotency_key, fingerprint) VALUES (${values})`,
      ),
    ).toThrow(/constraint|cannot store/);
    expect(count(db)).toBe(0n);
  });
});

describe('the table of keys', () => {
  const key = {
    id: "'0123456789abcdef'",
    digest: 'zeroblob(32)',
    label: "'Tom'",
    scopes: "'pets:read'",
    created_at: '0',
    expires_at: 'NULL',
    requests: 'NULL',
    seconds: 'NULL',
    revoked_at: 'NULL',
    last_used_at: 'NULL',
  };
  const insert = (fields: Partial<typeof key>) => {
    const all = Object.entries({ ...key, ...fields });
    const columns = all.map(([column]) => column).join();
    return `INSERT INTO api_keys (${columns}) VALUES (${all.map(([, value]) => value).join()})`;
  };

  it.each<Partial<typeof key>>([
    { id: 'NULL' },
    { id: "'0123456789abcde'" },
    { id: "'0123456789abcdef0'" },
    { id: 'zeroblob(16)' },
    { digest: 'NULL' },
    { digest: 'zeroblob(31)' },
    { digest: 'zeroblob(33)' },
    { digest: "'01234567890123456789012345678901'" },
    { label: 'NULL' },
    { label: "''" },
    { label: `'${'🐈'.repeat(65)}'` },
    { scopes: 'NULL' },
    { scopes: "''" },
    { scopes: "'pets:admin'" },
    { scopes: "'pets:read,pets:write'" },
    { created_at: 'NULL' },
    ...(['created_at', 'expires_at', 'revoked_at', 'last_used_at'] as const).flatMap((column) => [
      { [column]: '1.5' },
      { [column]: "'2026-01-01'" },
      { [column]: '8640000000000001' },
      { [column]: '-8640000000000001' },
    ]),
    { requests: '600' },
    { seconds: '60' },
    { requests: '0', seconds: '60' },
    { requests: '600', seconds: '0' },
    { requests: '1000000001', seconds: '60' },
    { requests: '600', seconds: '86401' },
  ])('refuses a row from any program: %j', async (fields) => {
    const { db } = await newDatabase();
    db.exec(insert({ id: "'ffffffffffffffff'", label: `'${'🐈'.repeat(64)}'` }));

    expect(() => db.exec(insert(fields))).toThrow(/constraint|cannot store/);
    expect(db.prepare('SELECT count(*) AS n FROM api_keys').get()).toEqual({ n: 1n });
  });

  it('refuses a second key with the same id', async () => {
    const { db } = await newDatabase();
    db.exec(insert({}));

    expect(() => db.exec(insert({ digest: 'randomblob(32)' }))).toThrow(/constraint/);
  });
});

describe('migrate', () => {
  it('migrates an empty file to the version of this build, and may run again', async () => {
    const db = await newConnection();
    const before = readVersion(db);

    migrate(db);
    migrate(db);

    expect([before, readVersion(db)]).toStrictEqual([0, SCHEMA_VERSION]);
    expect(count(db)).toBe(0n);
    db.exec('PRAGMA writable_schema = ON');
    expect(() => db.exec('DELETE FROM sqlite_schema')).toThrow('may not be modified');
  });

  it.each([
    "pets SET status = 'secret'",
    'pets SET status = NULL',
    "pets SET name = x'52'",
    "pets SET category_id = 'seven'",
    'pets SET fingerprint = NULL',
    "pets SET idempotency_key = 'x'",
    "api_keys SET scopes = 'all'",
    'api_keys SET label = NULL',
    "api_keys SET digest = 'x'",
    "api_keys SET revoked_at = 'now'",
  ])('migrates a file with a damaged row, and gives the others checksums: %s', async (change) => {
    const file = await newFile();
    await copyFile(join(import.meta.dirname, 'schema-versions/2.db'), file);
    const [table = ''] = change.split(' ');
    damage(file, `UPDATE ${change} WHERE id = (SELECT min(id) FROM ${table} ${KEYED[table]})`);
    const db = connect(file, { readOnly: false });
    onTestFinished(() => db.close());

    migrate(db);

    expect(readVersion(db)).toBe(SCHEMA_VERSION);
    const { checked, others } = db
      .prepare(`SELECT count(checksum) AS checked, count(*) - 1 AS others FROM ${table}`)
      .get() as { checked: bigint; others: bigint };
    expect(others).toBeGreaterThan(0n);
    expect(checked).toBeGreaterThanOrEqual(others);
  });

  it('migrates completely or not at all', async () => {
    const db = await newConnection();
    // The file looks like an empty one of ours, but a later step of the migration must fail.
    db.exec(
      'PRAGMA application_id = 0x50455453; CREATE TABLE other (a); CREATE INDEX pets_by_status ON other (a)',
    );

    expect(() => migrate(db)).toThrow('pets_by_status already exists');
    expect(db.isTransaction).toBe(false);
    expect(readVersion(db)).toBe(0);
    expect(() => count(db)).toThrow('no such table');
  });

  it('refuses a newer version and leaves no transaction behind', async () => {
    const db = await newConnection();
    migrate(db);
    db.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);

    const problem = versionProblem(db, SCHEMA_VERSION + 1);
    expect(() => migrate(db)).toThrow(new StorageSetupError(problem!));
    expect(db.isTransaction).toBe(false);
  });

  it('gives every idempotency key a checksum, and no other row one', async () => {
    const file = await newFile();
    await copyFile(join(import.meta.dirname, 'schema-versions/2.db'), file);
    const db = connect(file, { readOnly: false });
    onTestFinished(() => db.close());

    migrate(db);

    const pets = db.prepare('SELECT * FROM pets').all() as Record<string, never>[];
    expect(await new ReadableSqlitePetArchive(db).read(0n, 1000)).toHaveLength(pets.length);
    const isKeyed = (column: string) => pets.map((pet) => pet[column] !== null);
    expect(isKeyed('idempotency_checksum')).toStrictEqual(isKeyed('idempotency_key'));
    expect(new Set(isKeyed('idempotency_key'))).toStrictEqual(new Set([true, false]));
  });
});

describe('readVersion', () => {
  it.each([
    'CREATE TABLE pets (id INTEGER PRIMARY KEY)',
    'PRAGMA application_id = 1',
    'PRAGMA user_version = 1',
  ])('refuses the file of another application: %s', async (sql) => {
    const db = await newConnection();
    db.exec(sql);

    expect(() => readVersion(db)).toThrow(
      new StorageSetupError(
        `the SQLite file ${fileOf(db)} belongs to another application; choose another path`,
      ),
    );
  });
});

it('the problem of a version says what to do', async () => {
  const db = await newConnection();
  const is = (version: number) =>
    `the SQLite file ${fileOf(db)} has schema version ${version}, this build needs ${SCHEMA_VERSION}; `;

  expect([-1, 0, 1].map((more) => versionProblem(db, SCHEMA_VERSION + more))).toStrictEqual([
    `${is(SCHEMA_VERSION - 1)}start the service once to migrate it`,
    undefined,
    `${is(SCHEMA_VERSION + 1)}run a newer build of petstore`,
  ]);
});

async function newConnection() {
  const db = connect(await newFile(), { readOnly: false });
  onTestFinished(() => db.close());
  return db;
}
