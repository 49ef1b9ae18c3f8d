import { expect, it } from 'vitest';
import { KEY_STATEMENTS, PET_STATEMENTS } from '../../../src/adapters/sqlite/statements.ts';
import { newDatabase } from '../../support/sqlite.ts';

const { insert: _insert, lastId: _lastId, ...QUERIES } = PET_STATEMENTS;

/** Each plan has one step: an index finds the first row, and the other rows follow in order. No plan scans or sorts. */
const PLANS: Record<keyof typeof QUERIES, string> = {
  byId: 'SEARCH pets USING INTEGER PRIMARY KEY (rowid=?)',
  byIdInIndex: 'SEARCH pets USING COVERING INDEX pets_by_status (status=? AND rowid=?)',
  list: 'SEARCH pets USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
  listByStatus: 'SEARCH pets USING INDEX pets_by_status (status=? AND rowid>? AND rowid<?)',
  byIdempotencyKey: 'SEARCH pets USING INDEX pets_by_idempotency_key (idempotency_key=?)',
};

const ADD_MANY = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  INSERT INTO pets (name, category_id, status) SELECT 'Rex', i, 'sold' FROM n;
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  INSERT INTO api_keys (id, digest, label, scopes, created_at)
    SELECT printf('%016x', i), zeroblob(32), 'Tom', 'pets:read', i FROM n`;

// `list` is not tested, because no request lists all keys.
const KEY_PLAN = 'SEARCH api_keys USING PRIMARY KEY (id=?)';

it.each([
  ['empty tables', ''],
  ['many pets and keys', ADD_MANY],
  // All pets have one status, so ANALYZE tells SQLite that an index of the status is of no use.
  ['many pets of one status, after ANALYZE', `${ADD_MANY}; ANALYZE`],
])('every query of SQLite uses an index and no sort: %s', async (_, prepare) => {
  const { db } = await newDatabase();
  db.exec(prepare);
  const planOf = (sql: string) => {
    const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    return steps.map(({ detail }) => detail).join();
  };

  const plans = Object.entries(QUERIES).map(([name, sql]) => [name, planOf(sql)]);
  expect(Object.fromEntries(plans)).toStrictEqual(PLANS);
  for (const name of ['byId', 'update'] as const) expect(planOf(KEY_STATEMENTS[name]), name).toBe(KEY_PLAN);
});
