import { describe, expect, it } from 'vitest';
import { INSERT_STATEMENTS, KEY_STATEMENTS, PET_QUERIES } from '../../../src/adapters/sqlite/statements.ts';
import { newDatabase } from '../../support/sqlite.ts';

const { byIdempotencyKey } = INSERT_STATEMENTS;
const QUERIES = { ...PET_QUERIES, byIdempotencyKey };

/** One step each: an index leads to the first row, and the rows follow in order. No scan, no sort. */
const PLANS: Record<keyof typeof QUERIES, string> = {
  byId: 'SEARCH pets USING INTEGER PRIMARY KEY (rowid=?)',
  byIdInIndex: 'SEARCH pets USING COVERING INDEX pets_by_status (status=? AND rowid=?)',
  list: 'SEARCH pets USING INTEGER PRIMARY KEY (rowid>?)',
  listByStatus: 'SEARCH pets USING INDEX pets_by_status (status=? AND rowid>?)',
  byIdempotencyKey: 'SEARCH pets USING INDEX pets_by_idempotency_key (idempotency_key=?)',
};

const ADD_MANY = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  INSERT INTO pets (name, category_id, status) SELECT 'Rex', i, 'sold' FROM n`;

describe.each(Object.entries(QUERIES))('the query %s', (name, sql) => {
  const expected = PLANS[name as keyof typeof QUERIES];

  it.each([
    ['an empty table', ''],
    ['many pets', ADD_MANY],
    // The statistics of ANALYZE suggest that the status selects nothing.
    ['many pets of one status, after ANALYZE', `${ADD_MANY}; ANALYZE`],
  ])('uses an index and no sort: %s', async (_, prepare) => {
    const { db } = await newDatabase();
    db.exec(prepare);

    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();

    expect(plan.map(({ detail }) => detail)).toStrictEqual([expected]);
  });
});

const BY_ID = 'SEARCH api_keys USING PRIMARY KEY (id=?)';

const ADD_MANY_KEYS = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  INSERT INTO api_keys (id, digest, label, scopes, created_at)
    SELECT printf('%016x', i), zeroblob(32), 'Tom', 'pets:read', i FROM n`;

// No request lists all keys.
describe.each(['byId', 'update'] as const)('the statement %s of keys', (name) => {
  it.each([
    ['an empty table', ''],
    ['many keys, after ANALYZE', `${ADD_MANY_KEYS}; ANALYZE`],
  ])('finds the key by its id: %s', async (_, prepare) => {
    const { db } = await newDatabase();
    db.exec(prepare);

    const plan = db.prepare(`EXPLAIN QUERY PLAN ${KEY_STATEMENTS[name]}`).all();

    expect(plan.map(({ detail }) => detail)).toStrictEqual([BY_ID]);
  });
});
