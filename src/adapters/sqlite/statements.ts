const COLUMNS = 'id, name, category_id, status';

/** Every query that the service runs. `test/adapters/sqlite/query-plans.test.ts` proves that none of them scans or sorts. */
export const QUERIES = {
  byId: `SELECT ${COLUMNS} FROM pets WHERE id = ?`,
  list: `SELECT ${COLUMNS} FROM pets WHERE id > ? ORDER BY id LIMIT ?`,
  // After an ANALYZE the planner would walk all pets by id where most have one status, and so for a rare one.
  listByStatus: `SELECT ${COLUMNS} FROM pets INDEXED BY pets_by_status WHERE status = ? AND id > ? ORDER BY id LIMIT ?`,
  byIdempotencyKey: `SELECT ${COLUMNS}, idempotency_key, fingerprint FROM pets WHERE idempotency_key = ?`,
} as const;

/** The name as it is in the file, whether or not it is a text. */
export const NAME_BYTES = 'SELECT CAST(name AS BLOB) AS bytes FROM pets WHERE id = ?';

export const INSERT =
  'INSERT INTO pets (name, category_id, status, idempotency_key, fingerprint) VALUES (?, ?, ?, ?, ?)';

/** The queries of the archive. Only the count looks at more than it returns. */
export const ARCHIVE_QUERIES = {
  read: `SELECT ${COLUMNS}, idempotency_key, fingerprint FROM pets WHERE id > ? ORDER BY id LIMIT ?`,
  byId: `SELECT ${COLUMNS}, idempotency_key, fingerprint FROM pets WHERE id = ?`,
  count: 'SELECT count(*) AS n FROM pets WHERE id <= ?',
  greatestId: 'SELECT ifnull(max(id), 0) AS id FROM pets',
  // SQLite raises the sequence by itself when a greater id is written; no harm where somebody has set it back.
  lastId: `SELECT max(ifnull((SELECT max(id) FROM pets), 0),
                      ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'pets'), 0)) AS id`,
} as const;

/** Leaves what is there as it is, whether the id or the idempotency key is taken. */
export const INSERT_WITH_ID = `INSERT INTO pets (${COLUMNS}, idempotency_key, fingerprint) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;

/** The sequence of AUTOINCREMENT, which is open to all that SQL can do: https://www.sqlite.org/autoinc.html */
export const RESERVE = [
  "INSERT INTO sqlite_sequence SELECT 'pets', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'pets')",
  "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'pets'",
] as const;

const KEY_COLUMNS =
  'id, digest, label, scopes, created_at, expires_at, requests, seconds, revoked_at, last_used_at';

/** What is done with API keys. Only the list looks at more than one of them. */
export const KEY_STATEMENTS = {
  insert: `INSERT INTO api_keys (${KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  byId: `SELECT ${KEY_COLUMNS} FROM api_keys WHERE id = ?`,
  list: `SELECT ${KEY_COLUMNS} FROM api_keys ORDER BY created_at, id`,
  // One statement each, so that nothing that another connection does comes between.
  revoke: `UPDATE api_keys SET revoked_at = min(ifnull(revoked_at, ?1), ?1) WHERE id = ?2 RETURNING ${KEY_COLUMNS}`,
  expire: `UPDATE api_keys SET expires_at = min(ifnull(expires_at, ?1), ?1) WHERE id = ?2 RETURNING ${KEY_COLUMNS}`,
  recordUse:
    'UPDATE api_keys SET last_used_at = ?1 WHERE id = ?2 AND (last_used_at IS NULL OR last_used_at <= ?1 - ?3)',
} as const;

/**
 * The key of the table is always an integer, and `readBigInts` makes every integer exact. STRICT and the checks of the
 * table guarantee the rest when it is written; what a damaged file holds can be anything.
 */
export type PetRow = {
  readonly id: bigint;
  readonly name: unknown;
  readonly category_id: unknown;
  readonly status: unknown;
};

export type ArchivedRow = PetRow & { readonly idempotency_key: unknown; readonly fingerprint: unknown };

/** As with pets. */
export type ApiKeyRow = Readonly<
  Record<
    | 'id'
    | 'digest'
    | 'label'
    /** Separated by spaces. */
    | 'scopes'
    | 'created_at'
    | 'expires_at'
    | 'requests'
    | 'seconds'
    | 'revoked_at'
    | 'last_used_at',
    unknown
  >
>;
