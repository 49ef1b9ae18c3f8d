import { truncate } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { refuseDamaged, ROW_FINDING, sqliteInspector } from '../../../src/adapters/sqlite/damage.ts';
import { openSqliteForReading, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { StorageSetupError, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { damage, newFile, openService, otherConnection } from '../../support/sqlite.ts';

it.each([
  ['NULL value in pets.name', true],
  ['non-INTEGER value in pets.category_id', true],
  ['TEXT value in pets.name', true],
  ['NUMERIC value in pets.name', true],
  ['CHECK constraint failed in pets', true],
  ['row 2 missing from index pets_by_status', false],
  ['wrong # of entries in index pets_by_status', false],
  ['non-unique entry in index pets_by_idempotency_key', false],
  ['index x stores a NULL value in a row', false],
  ['x: CHECK constraint failed in pets', false],
])('the finding "%s" is about a single row: %s', (finding, isInRow) => {
  expect(ROW_FINDING.test(finding)).toBe(isInRow);
});

async function fileWithPets(): Promise<string> {
  const file = await newFile();
  const { archive, close } = await openSqliteStorage(file);
  await archive.write(archivedPets(300));
  await close();
  return file;
}

/** Changes the schema itself, as a damaged page of it would. */
function changeSchema(file: string, sql: string): void {
  using db = new DatabaseSync(file, { timeout: 1_000 });
  db.enableDefensive(false);
  db.exec(`PRAGMA writable_schema = ON; ${sql}; PRAGMA writable_schema = RESET`);
}

const refusal = (file: string, problem: string) =>
  new StorageSetupError(`the SQLite file ${file} is damaged (${problem}); restore a backup`);

describe('a damaged file', () => {
  it.each([
    ['a missing index', 'DROP INDEX pets_by_status', 'the index pets_by_status is missing'],
    [
      'another index',
      'DROP INDEX pets_by_status; CREATE INDEX pets_by_status ON pets (status, name)',
      'the index pets_by_status has another definition',
    ],
  ])('is refused by a service and by an export: %s', async (_, sql, problem) => {
    const file = await fileWithPets();
    damage(file, sql);
    for (const open of [openSqliteStorage, openSqliteForReading]) {
      await expect(open(file)).rejects.toStrictEqual(refusal(file, problem));
    }
  });

  it('is refused when a rule of a table has changed', async () => {
    const file = await fileWithPets();
    changeSchema(
      file,
      "UPDATE sqlite_schema SET sql = replace(sql, '''sold''', '''told''') WHERE name = 'pets'",
    );
    await expect(openSqliteStorage(file)).rejects.toStrictEqual(
      refusal(file, 'the table pets has another definition'),
    );
  });

  it('is refused when an index has lost a row', async () => {
    const file = await fileWithPets();
    // A partial index has no entry for the others.
    damage(file, 'DROP INDEX pets_by_status; CREATE INDEX pets_by_status ON pets (status) WHERE id <> 7');
    changeSchema(
      file,
      "UPDATE sqlite_schema SET sql = 'CREATE INDEX pets_by_status ON pets (status)' WHERE name = 'pets_by_status'",
    );
    await expect(openSqliteStorage(file)).rejects.toThrow(
      /is damaged \(.*pets_by_status\); restore a backup$/,
    );
  });

  it('is accepted with damaged rows, which are reported when they are read', async () => {
    const file = await fileWithPets();
    damage(file, "UPDATE pets SET status = 'x' WHERE id = 7; UPDATE pets SET name = 'x' WHERE id = 9");
    const { pets, close } = await openSqliteStorage(file);
    for (const id of [7n, 9n])
      await expect(pets.findById(id)).rejects.toMatchObject({ kind: 'damaged-pet', id });
    await close();
  });

  it('is not checked beyond 16 MiB', async () => {
    const file = await fileWithPets();
    damage(file, 'DROP INDEX pets_by_status');
    const db = otherConnection(file);
    await truncate(file, 16 * 1024 * 1024);
    expect(() => refuseDamaged(db)).toThrow(StorageSetupError);
    await truncate(file, 16 * 1024 * 1024 + 1);
    expect(() => refuseDamaged(db)).not.toThrow();
  });
});

const COUNTER = 'counter of pet ids';
const RANGE = `must be an integer from 0 to ${MAX_PET_ID}`;
const SET_PETS = (seq: bigint | string) => `UPDATE sqlite_sequence SET seq = ${seq} WHERE name = 'pets'`;
const SET_RESERVED = (seq: bigint | string) =>
  `UPDATE sqlite_sequence SET seq = ${seq} WHERE name = 'petstore ids'`;
const NO_PETS = 'DELETE FROM pets';

/** Three pets with the ids 1 to 3, one of them with an idempotency key, and a reservation up to 70. */
async function inspectedAfter(sql: string) {
  const file = await newFile();
  const { archive } = await openService(file);
  await archive.write(archivedPets(3));
  await archive.reserve(70n);
  damage(file, sql);
  return sqliteInspector(otherConnection(file, { readOnly: true }));
}

describe('the inspector of a SQLite file', () => {
  it.each<readonly [string, string, readonly (readonly [about: string, problem: string])[]]>([
    ['no damage', '', []],
    ['all pets removed', NO_PETS, []],
    ['no pet and no counter', `${NO_PETS}; DELETE FROM sqlite_sequence`, []],
    ['no reservation', "DELETE FROM sqlite_sequence WHERE name = 'petstore ids'", []],
    ['a counter of 0 without a pet', `${NO_PETS}; ${SET_PETS(0n)}; ${SET_RESERVED(0n)}`, []],
    ['the greatest counter', `${SET_PETS(MAX_PET_ID)}; ${SET_RESERVED(MAX_PET_ID)}`, []],
    ['no counter', 'DELETE FROM sqlite_sequence', [[COUNTER, `it ${RANGE}`]]],
    ['only a reservation', `${NO_PETS}; ${SET_PETS('NULL')}`, [[COUNTER, `it ${RANGE}`]]],
    ['a counter below the pets', SET_PETS(2n), [[COUNTER, 'it is 2, less than the greatest id of a pet, 3']]],
    ['a counter below the reservation', SET_PETS(69n), [[COUNTER, 'it is 69, less than the reserved id 70']]],
    [
      'a negative counter without a reservation',
      `${NO_PETS}; DELETE FROM sqlite_sequence WHERE name = 'petstore ids'; ${SET_PETS(-1n)}`,
      [[COUNTER, `it ${RANGE}`]],
    ],
    ['a counter beyond 2^53', SET_PETS(MAX_PET_ID + 1n), [[COUNTER, `it ${RANGE}`]]],
    ['a counter that is text', SET_PETS("'x'"), [[COUNTER, `it ${RANGE}`]]],
    ['a reservation that is text', SET_RESERVED("'x'"), [[COUNTER, `the reserved id ${RANGE}`]]],
    [
      'a missing index and a wrong counter',
      `DROP INDEX pets_by_status; ${SET_PETS(2n)}`,
      [
        ['file', 'the index pets_by_status is missing'],
        [COUNTER, 'it is 2, less than the greatest id of a pet, 3'],
      ],
    ],
    // Reading the pet reports it.
    ['a damaged pet', "UPDATE pets SET status = 'x' WHERE id = 2", []],
  ])('reports %s', async (_, sql, expected) => {
    const inspector = await inspectedAfter(sql);

    const findings = await Array.fromAsync(inspector.findings());

    expect(findings).toStrictEqual(expected.map(([about, problem]) => ({ about, problem })));
  });

  it.each([
    ['a status differs, and the checksum of the pet is wrong', "UPDATE pets SET status = 'sold'", []],
    [
      'a status differs, and the checksum of the pet is right',
      "UPDATE pets SET status = 'sold', checksum = -1",
      ['row 11 missing from index pets_by_status'],
    ],
    ['a pet is lost', 'DELETE FROM pets', ['wrong # of entries in index pets_by_status']],
  ])('compares the pets with their indexes: %s', async (_, sql, problems) => {
    const file = await newFile();
    const { archive } = await openService(file);
    await archive.write(archivedPets(12));

    // The pet in row 11.
    behindIndexes(file, `${sql} WHERE id = 14`);

    const expected = problems.map((problem) => ({ about: 'file', problem }));
    const inspector = sqliteInspector(otherConnection(file, { readOnly: true }));
    expect(await Array.fromAsync(inspector.findings())).toStrictEqual(expected);
  });

  it('fails when the file cannot be read', async () => {
    const db = otherConnection(await newFile());
    db.close();

    const findings = Array.fromAsync(sqliteInspector(db).findings());
    await expect(findings).rejects.toThrow(StorageUnavailable);
  });
});

/** Changes rows and leaves the indexes of the pets as they are. */
function behindIndexes(file: string, sql: string): void {
  const indexes = "sqlite_schema WHERE type = 'index' AND tbl_name = 'pets'";
  for (const change of [
    `CREATE TABLE kept AS SELECT * FROM ${indexes}; DELETE FROM ${indexes}`,
    sql,
    'INSERT INTO sqlite_schema SELECT * FROM kept; DROP TABLE kept',
  ]) {
    changeSchema(file, change);
  }
}
