import { expect, it } from 'vitest';
import { isRowFinding } from '../../../../src/adapters/sqlite/file/is-sound.ts';

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
