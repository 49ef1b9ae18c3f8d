import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, fileOf } from '../../../src/adapters/sqlite/connection.ts';
import { createSchema, readVersion, SCHEMA_VERSION } from '../../../src/adapters/sqlite/schema.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { count, newDatabase, newFile, otherConnection } from '../../support/sqlite.ts';

const UNRELEASED = 'a build that was never released made it: export it with that build, then import';
const VERSIONS = [
  [1, UNRELEASED],
  [3, UNRELEASED],
  [5, 'run a newer build of petstore'],
] as const;

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

describe('createSchema', () => {
  it('creates the schema of this build, and may run again', async () => {
    const db = await newConnection();
    const before = readVersion(db);

    createSchema(db);
    createSchema(db);

    expect([before, readVersion(db)]).toStrictEqual([0, SCHEMA_VERSION]);
    expect(count(db)).toBe(0n);
  });

  it('creates what the first build with this version has created', async () => {
    const first = await newFile();
    await copyFile(join(import.meta.dirname, 'schema-versions/4.db'), first);
    const { db } = await newDatabase();

    const [expected, created] = [otherConnection(first), db].map((one) =>
      one.prepare('SELECT * FROM sqlite_schema').all(),
    );
    expect(created).toStrictEqual(expected);
  });

  it('creates everything or nothing', async () => {
    const db = await newConnection();
    // The file looks like an empty one of ours, but a later statement must fail.
    db.exec(
      'PRAGMA application_id = 0x50455453; CREATE TABLE other (a); CREATE INDEX pets_by_status ON other (a)',
    );

    expect(() => createSchema(db)).toThrow('pets_by_status already exists');
    expect(db.isTransaction).toBe(false);
    expect(readVersion(db)).toBe(0);
    expect(() => count(db)).toThrow('no such table');
  });

  it.each(VERSIONS)('refuses version %i and leaves no transaction behind', async (version, advice) => {
    const { db } = await newDatabase();
    db.exec(`PRAGMA user_version = ${version}`);

    expect(() => createSchema(db)).toThrow(
      new StorageSetupError(
        `the SQLite file ${fileOf(db)} has schema version ${version}, this build needs 4; ${advice}`,
      ),
    );
    expect(db.isTransaction).toBe(false);
    expect(readVersion(db)).toBe(version);
  });
});

async function newConnection() {
  const file = await newFile();
  await writeFile(file, '');
  const db = connect(file, 'write');
  onTestFinished(() => db.close());
  return db;
}
