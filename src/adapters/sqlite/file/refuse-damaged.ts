import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { fileOf } from '../connection.ts';
import { damageOf } from '../damage.ts';

/**
 * The largest file that is checked at every start. The check takes 0.5 s for 16 MiB, which is 150,000 pets with an
 * idempotency key each. For a larger file there is `petstore check`.
 */
const MAX_CHECKED_BYTES = 16 * 1024 * 1024;

/**
 * Refuses a small file with damage that requests might not notice: a missing pet, a lost index entry, another schema.
 * Damaged rows are no reason, because reading them reports the damage.
 *
 * @throws {StorageSetupError}
 * @throws the error of SQLite
 */
export function refuseDamaged(db: DatabaseSync): void {
  const file = fileOf(db);
  if (statSync(file).size > MAX_CHECKED_BYTES) return;
  const [finding] = damageOf(db).filter(({ isInRow }) => !isInRow);
  if (finding === undefined) return;
  throw new StorageSetupError(`the SQLite file ${file} is damaged (${finding.problem}); restore a backup`);
}
