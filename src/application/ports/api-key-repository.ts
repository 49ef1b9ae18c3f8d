import type { ApiKey } from '../../domain/api-key.ts';
import type { DamagedApiKey } from './storage-errors.ts';

/**
 * Stores API keys. `test/contracts/api-key-repository.ts` tests every adapter against these comments.
 *
 * - Values come back exactly as they were stored, times to the millisecond.
 * - The store shares no object with its callers. Changing an argument or a result later has no effect.
 * - A change is as durable as the adapter can make it when the promise resolves.
 * - Every method rejects within a bounded time when it cannot reach the storage.
 */
export interface ApiKeyRepository {
  /**
   * Stores the fields of a key and ignores all others. Leaves an existing key with the same id and digest unchanged,
   * so an insert with an unknown outcome can be repeated.
   *
   * @throws {ApiKeyIdTaken} when another key has the id; it is not overwritten
   * @throws {DamagedApiKey} when the record under the id is damaged; it is not overwritten
   * @throws {StorageUnavailable}
   */
  insert(key: ApiKey): Promise<void>;

  /**
   * The key with this id in any state, or `undefined`.
   *
   * @param id any text; it never acts as a pattern or a query
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  findById(id: string): Promise<ApiKey | undefined>;

  /**
   * Every key by time of creation, and by id where that is equal. A damaged record is in the list as its error.
   *
   * @throws {StorageUnavailable}
   */
  list(): Promise<readonly (ApiKey | DamagedApiKey)[]>;

  /**
   * Sets `revokedAt`, unless the key was revoked earlier.
   *
   * @returns the key after the change, or `undefined` when there is none
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  revoke(id: string, at: Date): Promise<ApiKey | undefined>;

  /**
   * Sets `expiresAt`, unless the key expires earlier.
   *
   * @returns the key after the change, or `undefined` when there is none
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  expire(id: string, at: Date): Promise<ApiKey | undefined>;

  /**
   * Records when keys were last used. Ignores ids without a key. Ignores a time less than `USE_INTERVAL_MS` after
   * the recorded one, including one that another process recorded.
   *
   * @param uses times by key id
   * @throws {StorageUnavailable}
   */
  recordUse(uses: ReadonlyMap<string, Date>): Promise<void>;
}
