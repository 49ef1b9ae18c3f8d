import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { isRowFinding, isSound } from '../../../src/adapters/sqlite/damage.ts';

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

describe('a file', () => {
  it('is sound, though a row is damaged', () => {
    using db = withDamagedRow();
    expect(isSound(db)).toBe(true);
  });

  it('is not sound, if an index has lost a row as well', () => {
    using db = withDamagedRow();
    db.enableDefensive(false);
    db.exec(`CREATE INDEX pets_by_status ON pets (status) WHERE status = 'sold';
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = 'CREATE INDEX pets_by_status ON pets (status)' WHERE name = 'pets_by_status';
      PRAGMA writable_schema = RESET`);
    expect(isSound(db)).toBe(false);
  });
});

function withDamagedRow(): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  db.exec(`CREATE TABLE pets (status TEXT CHECK (status = 'sold'));
    PRAGMA ignore_check_constraints = ON;
    INSERT INTO pets VALUES ('x');
    PRAGMA ignore_check_constraints = OFF`);
  return db;
}
