import { truncate } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { refuseDamaged, sqliteInspector } from '../../../src/adapters/sqlite/damage.ts';
import { openSqliteForReading, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import {
  damage,
  fileWith,
  newService,
  openService,
  otherConnection,
  silentHost,
} from '../../support/sqlite.ts';

const PETS = archivedPets(300);

/** Changes the stored schema, as a damaged page of the schema would. */
function changeSchema(file: string, sql: string): void {
  using db = new DatabaseSync(file, { timeout: 1_000 });
  db.enableDefensive(false);
  db.exec(`PRAGMA writable_schema = ON; ${sql}; PRAGMA writable_schema = RESET`);
}

/** SQL that changes a stored definition. */
const REDEFINE = (name: string, from: string, to: string) =>
  `UPDATE sqlite_schema SET sql = replace(sql, '${from}', '${to}') WHERE name = '${name}'`;

/** SQL that removes pet 7 from an index: it makes a partial index without it, and then removes the condition. */
const LOSE_A_ROW = `DROP INDEX pets_by_status; CREATE INDEX pets_by_status ON pets (status) WHERE id <> 7;
  ${REDEFINE('pets_by_status', ' WHERE id <> 7', '')}`;

it.each([
  ['an index is missing', 'DROP INDEX pets_by_status', 'the index pets_by_status is missing'],
  [
    'an index has other columns',
    'DROP INDEX pets_by_status; CREATE INDEX pets_by_status ON pets (status, name)',
    'the index pets_by_status has another definition',
  ],
  [
    'a rule of a table has changed',
    REDEFINE('pets', 'sold', 'told'),
    'the table pets has another definition',
  ],
  ['an index has lost a row', LOSE_A_ROW, 'wrong # of entries in index pets_by_status'],
])('a damaged file is refused by a service and by an export when %s', async (_, sql, problem) => {
  const file = await fileWith(PETS);
  changeSchema(file, sql);
  for (const opening of [openSqliteStorage(file, silentHost), openSqliteForReading(file)]) {
    await expect(opening).rejects.toStrictEqual(
      new StorageSetupError(`the SQLite file ${file} is damaged (${problem}); restore a backup`),
    );
  }
});

it('a file with damaged rows is opened, and each damaged row is reported when it is read', async () => {
  const file = await fileWith(PETS);
  const damages = ["status = 'x'", 'name = NULL', "name = x'00'", "category_id = 'x'", 'category_id = 7.5'];
  damages.forEach((change, n) => damage(file, `UPDATE pets SET ${change} WHERE id = ${PETS[n]!.id}`));
  const { pets } = await openService(file);
  for (const { id } of PETS.slice(0, damages.length))
    await expect(pets.findById(id)).rejects.toMatchObject({ kind: 'damaged-pet', id });
});

it('a file larger than 16 MiB is opened without a check of its indexes, but refused if its schema has changed', async () => {
  const file = await fileWith(PETS);
  changeSchema(file, LOSE_A_ROW);
  const db = otherConnection(file);
  await truncate(file, 16 * 1024 * 1024);
  expect(() => refuseDamaged(db)).toThrow(StorageSetupError);
  await truncate(file, 16 * 1024 * 1024 + 1);
  expect(() => refuseDamaged(db)).not.toThrow();
  db.exec('DROP INDEX pets_by_status');
  expect(() => refuseDamaged(db)).toThrow('the index pets_by_status is missing');
});

const RANGE = `must be an integer from 0 to ${MAX_PET_ID}`;
const SET_PETS = (seq: bigint | string) => `UPDATE sqlite_sequence SET seq = ${seq} WHERE name = 'pets'`;
const SET_RESERVED = (seq: bigint | string) =>
  `UPDATE sqlite_sequence SET seq = ${seq} WHERE name = 'petstore ids'`;
const NO_PETS = 'DELETE FROM pets';
const NO_RESERVATION = "DELETE FROM sqlite_sequence WHERE name = 'petstore ids'";

async function findings(file: string) {
  return Array.fromAsync(sqliteInspector(otherConnection(file, { readOnly: true })).findings());
}

it.each<readonly [string, string, ...problems: string[]]>([
  ['all pets removed', NO_PETS],
  ['no pet and no counter', `${NO_PETS}; DELETE FROM sqlite_sequence`],
  ['no reservation', NO_RESERVATION],
  ['a counter of 0 without a pet', `${NO_PETS}; ${SET_PETS(0n)}; ${SET_RESERVED(0n)}`],
  ['the greatest counter', `${SET_PETS(MAX_PET_ID)}; ${SET_RESERVED(MAX_PET_ID)}`],
  ['no counter', 'DELETE FROM sqlite_sequence', `it ${RANGE}`],
  ['only a reservation', `${NO_PETS}; ${SET_PETS('NULL')}`, `it ${RANGE}`],
  ['a counter below the pets', SET_PETS(2n), 'it is 2, less than the greatest id of a pet, 3'],
  ['a counter below the reservation', SET_PETS(69n), 'it is 69, less than the reserved id 70'],
  ['a negative counter', `${NO_PETS}; ${NO_RESERVATION}; ${SET_PETS(-1n)}`, `it ${RANGE}`],
  ['a counter beyond 2^53', SET_PETS(MAX_PET_ID + 1n), `it ${RANGE}`],
  ['a counter that is text', SET_PETS("'x'"), `it ${RANGE}`],
  ['a reservation that is text', SET_RESERVED("'x'"), `the reserved id ${RANGE}`],
])('the inspector of a SQLite file checks the counter of ids: %s', async (_, sql, ...problems) => {
  const { file, archive } = await newService();
  await archive.write(archivedPets(3));
  await archive.reserve(70n);
  damage(file, sql);

  const expected = problems.map((problem) => ({ about: 'counter of pet ids', problem }));
  expect(await findings(file)).toStrictEqual(expected);
});

it.each([
  ['a status differs, and the checksum of the pet is wrong', "UPDATE pets SET status = 'sold'", []],
  [
    'a status differs, and the checksum of the pet is right',
    "UPDATE pets SET status = 'sold', checksum = -1",
    ['row 11 missing from index pets_by_status'],
  ],
  ['a pet is lost', 'DELETE FROM pets', ['wrong # of entries in index pets_by_status']],
])('the inspector of a SQLite file compares pets with indexes when %s', async (_, sql, problems) => {
  const { file, archive } = await newService();
  await archive.write(archivedPets(12));

  // The pet with the id 14 is in row 11.
  changeOnlyRows(file, `${sql} WHERE id = 14`);

  expect(await findings(file)).toStrictEqual(problems.map((problem) => ({ about: 'file', problem })));
});

/** Changes rows of the pets without a change of their indexes. */
function changeOnlyRows(file: string, sql: string): void {
  const indexes = "sqlite_schema WHERE type = 'index' AND tbl_name = 'pets'";
  for (const change of [
    `CREATE TABLE saved AS SELECT * FROM ${indexes}; DELETE FROM ${indexes}`,
    sql,
    'INSERT INTO sqlite_schema SELECT * FROM saved; DROP TABLE saved',
  ]) {
    changeSchema(file, change);
  }
}
