import type { ApiKey } from '../../domain/api-key.ts';
import type { DamagedApiKey } from './storage-errors.ts';

/**
 * Stores API keys. `test/contracts/api-key-repository.ts` tests every adapter against these comments.
 *
 * - Reads return the stored values, with times exact to the millisecond.
 * - A later change of an argument or of a result has no effect.
 * - When the promise of a change resolves, the change is as durable as the adapter allows.
 * - Every method rejects within a bounded time when the storage is unreachable.
 */
export interface ApiKeyRepository {
  /**
   * Stores a key without unknown fields. Leaves an existing key with the same id and digest unchanged, so a caller can
   * repeat an insert with an unknown outcome.
   *
   * @throws {ApiKeyIdTaken} when another key has the id; that key is unchanged
   * @throws {DamagedApiKey} when the record with the id is damaged; the record is unchanged
   * @throws {StorageUnavailable}
   */
  insert(key: ApiKey): Promise<void>;

  /**
   * The key, whether active, expired or revoked.
   *
   * @param id any text, never a pattern or a query
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  findById(id: string): Promise<ApiKey | undefined>;

  /**
   * Every key, ordered by time of creation, then by id. A damaged record is an error in the list.
   *
   * @throws {StorageUnavailable}
   */
  list(): Promise<readonly (ApiKey | DamagedApiKey)[]>;

  /**
   * Sets `revokedAt`, unless the key was revoked earlier.
   *
   * @returns the key after the change, or `undefined` for an unknown id
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  revoke(id: string, at: Date): Promise<ApiKey | undefined>;

  /**
   * Sets `expiresAt`, unless the key expires earlier.
   *
   * @returns the key after the change, or `undefined` for an unknown id
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  expire(id: string, at: Date): Promise<ApiKey | undefined>;

  /**
   * Sets `lastUsedAt`. Ignores unknown ids. Ignores a time that is less than `USE_INTERVAL_MS` after the stored time,
   * which another process may have stored.
   *
   * @param uses times by key id
   * @throws {StorageUnavailable}
   */
  recordUse(uses: ReadonlyMap<string, Date>): Promise<void>;
}
