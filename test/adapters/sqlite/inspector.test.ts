import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { sqliteInspector } from '../../../src/adapters/sqlite/damage.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { damage, newFile, openService, otherConnection } from '../../support/sqlite.ts';

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
    using db = new DatabaseSync(file, { timeout: 1_000 });
    db.enableDefensive(false);
    db.exec(`PRAGMA writable_schema = ON; ${change}; PRAGMA writable_schema = RESET`);
  }
}
