import { type Pet, type PetStatus, storedPet } from '../../domain/pet.ts';

const COLUMNS = 'id, name, category_id, status';

/** Every query that the service runs. `test/adapters/sqlite/query-plans.test.ts` proves that none of them scans or sorts. */
export const QUERIES = {
  byId: `SELECT ${COLUMNS} FROM pets WHERE id = ?`,
  list: `SELECT ${COLUMNS} FROM pets WHERE id > ? ORDER BY id LIMIT ?`,
  // After an ANALYZE the planner would walk all pets by id where most have one status, and so for a rare one.
  listByStatus: `SELECT ${COLUMNS} FROM pets INDEXED BY pets_by_status WHERE status = ? AND id > ? ORDER BY id LIMIT ?`,
  byIdempotencyKey: `SELECT ${COLUMNS}, fingerprint = ? AS matches FROM pets WHERE idempotency_key = ?`,
} as const;

export const INSERT =
  'INSERT INTO pets (name, category_id, status, idempotency_key, fingerprint) VALUES (?, ?, ?, ?, ?)';

/** STRICT and the checks of the table guarantee these types, and `readBigInts` that every integer is exact. */
export type PetRow = {
  readonly id: bigint;
  readonly name: string;
  readonly category_id: bigint;
  readonly status: PetStatus;
};

export function toPet({ id, name, category_id: categoryId, status }: PetRow): Pet {
  return storedPet(id, { name, categoryId, status });
}
