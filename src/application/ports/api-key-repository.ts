import type { ApiKey } from '../../domain/api-key.ts';
import type { DamagedApiKey } from './storage-errors.ts';

/**
 * Stores API keys. `test/contracts/api-key-repository.ts` tests every adapter against these comments.
 *
 * - Reads return the stored values, with times exact to the millisecond.
 * - A later change of an argument or a result has no effect on stored keys.
 * - When the promise of a change resolves, the change is as durable as the adapter allows.
 * - Every method rejects within a bounded time when the storage is unreachable.
 */
export interface ApiKeyRepository {
  /**
   * Stores the known fields of a key. Leaves an existing key with the same id and digest unchanged, so a caller can
   * repeat an insert with an unknown outcome.
   *
   * @throws {ApiKeyIdTaken} when another key has the id; the other key is unchanged
   * @throws {DamagedApiKey} when the record with the id is damaged; the record stays unchanged
   * @throws {StorageUnavailable}
   */
  insert(key: ApiKey): Promise<void>;

  /**
   * Returns an active, expired or revoked key.
   *
   * @param id any text, never used as a pattern or a query
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  findById(id: string): Promise<ApiKey | undefined>;

  /**
   * Every key, ordered by time of creation, then by id. For a damaged record, the list has a `DamagedApiKey`.
   *
   * @throws {StorageUnavailable}
   */
  list(): Promise<readonly (ApiKey | DamagedApiKey)[]>;

  /**
   * Sets `revokedAt`, unless the stored time is earlier.
   *
   * @returns the key after the change, or `undefined` for an unknown id
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  revoke(id: string, at: Date): Promise<ApiKey | undefined>;

  /**
   * Sets `expiresAt`, unless the stored time is earlier.
   *
   * @returns the key after the change, or `undefined` for an unknown id
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  expire(id: string, at: Date): Promise<ApiKey | undefined>;

  /**
   * Sets `lastUsedAt`. Ignores unknown ids. Ignores a time that is less than `USE_INTERVAL_MS` after the stored time.
   * Another process may have stored that time.
   *
   * @param uses times of use, by key id
   * @throws {StorageUnavailable}
   */
  recordUse(uses: ReadonlyMap<string, Date>): Promise<void>;
}
