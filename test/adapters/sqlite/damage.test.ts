import { truncate } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { isRowFinding, refuseDamaged } from '../../../src/adapters/sqlite/damage.ts';
import { openSqliteForReading, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { damage, newFile, otherConnection } from '../../support/sqlite.ts';

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
  expect(isRowFinding(finding)).toBe(isInRow);
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
  using db = new DatabaseSync(file);
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
