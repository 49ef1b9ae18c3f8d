import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { KEY_COLUMNS } from './api-key-row.ts';
import { ARCHIVE_COLUMNS, PET_COLUMNS } from './pet-row.ts';

const ARCHIVE_VALUES = ARCHIVE_COLUMNS.replaceAll(/\w+/g, '?');

// The reasons for `LIMIT +?`, for INDEXED BY and for the two sequences:
// docs/explanation/a-write-on-sqlite.md#the-table-and-its-statements.

/** The row of `sqlite_sequence` for reserved ids. */
const RESERVED = 'petstore ids';

const LAST_ID = `SELECT max(ifnull((SELECT max(id) FROM pets), 0), ifnull((SELECT max(seq) FROM sqlite_sequence
  WHERE name IN ('pets', '${RESERVED}') AND typeof(seq) = 'integer'), 0)) AS id`;

/** `test/adapters/sqlite/query-plans.test.ts` proves that no read scans or sorts. */
export const PET_STATEMENTS = {
  byId: `SELECT ${PET_COLUMNS} FROM pets WHERE id = ?`,
  /** Finds the index entry of a pet that the table has lost. */
  byIdInIndex: `SELECT id FROM pets INDEXED BY pets_by_status
    WHERE status IN ('available', 'pending', 'sold') AND id = ?`,
  list: `SELECT ${PET_COLUMNS} FROM pets WHERE id > ? AND id < ? ORDER BY id LIMIT +?`,
  listByStatus: `SELECT ${PET_COLUMNS} FROM pets INDEXED BY pets_by_status
    WHERE status = ? AND id > ? AND id < ? ORDER BY id LIMIT +?`,
  insert: `INSERT INTO pets (${ARCHIVE_COLUMNS}) VALUES (${ARCHIVE_VALUES})`,
  byIdempotencyKey: `SELECT ${ARCHIVE_COLUMNS} FROM pets WHERE idempotency_key = ?`,
  lastId: LAST_ID,
} as const;

/**
 * Only `count` and `nth` read more rows than they return. A program may change the sequence with SQL:
 * https://www.sqlite.org/autoinc.html
 */
export const ARCHIVE_STATEMENTS = {
  read: `SELECT ${ARCHIVE_COLUMNS} FROM pets WHERE id > ? ORDER BY id LIMIT +?`,
  nth: `SELECT ${ARCHIVE_COLUMNS} FROM pets ORDER BY id LIMIT 1 OFFSET ?`,
  count: 'SELECT count(*) AS n FROM pets WHERE id <= ?',
  greatestId: 'SELECT ifnull(max(id), 0) AS id FROM pets',
  lastId: LAST_ID,
  insert: `INSERT INTO pets (${ARCHIVE_COLUMNS}) VALUES (${ARCHIVE_VALUES}) ON CONFLICT DO NOTHING`,
  byId: `SELECT ${ARCHIVE_COLUMNS} FROM pets WHERE id = ?`,
  createSequence: `INSERT INTO sqlite_sequence SELECT column1, 0 FROM (VALUES ('pets'), ('${RESERVED}'))
    WHERE column1 NOT IN (SELECT name FROM sqlite_sequence)`,
  raiseSequence: `UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name IN ('pets', '${RESERVED}')`,
} as const;

export const COUNTER_QUERY = `SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'pets'),
  ifnull((SELECT seq FROM sqlite_sequence WHERE name = '${RESERVED}'), 0), (SELECT ifnull(max(id), 0) FROM pets)`;

/** Only `list` reads more than one key. */
export const KEY_STATEMENTS = {
  insert: `INSERT INTO api_keys (${KEY_COLUMNS}) VALUES (${KEY_COLUMNS.replaceAll(/\w+/g, ':$&')})
    ON CONFLICT (id) DO NOTHING`,
  byId: `SELECT ${KEY_COLUMNS} FROM api_keys WHERE id = ?`,
  list: `SELECT ${KEY_COLUMNS} FROM api_keys ORDER BY created_at, id`,
  update: 'UPDATE api_keys SET expires_at = ?, revoked_at = ?, last_used_at = ?, checksum = ? WHERE id = ?',
} as const;

export type Prepared<Statements> = { readonly [Name in keyof Statements]: StatementSync };

/** @param options `returnArrays` for pets, because an array takes less time than an object */
export function prepareAll<Statements extends Readonly<Record<string, string>>>(
  db: DatabaseSync,
  statements: Statements,
  options: { readonly returnArrays?: boolean } = {},
): Prepared<Statements> {
  const prepared = Object.entries(statements).map(([name, sql]) => [name, db.prepare(sql, options)] as const);
  // The type of `Object.fromEntries` has no names.
  return Object.fromEntries(prepared) as Prepared<Statements>;
}

export function integerIn(row: unknown): bigint {
  const [value] = row as readonly [bigint];
  return value;
}
