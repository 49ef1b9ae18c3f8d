import type { ApiKey } from '../../domain/api-key.ts';
import type { DamagedApiKey } from '../keys/errors.ts';

/** How often the use of a key is written, in milliseconds. */
export const USE_INTERVAL_MS = 60_000;

/**
 * The API keys. `test/contracts/api-key-repository.ts` holds every adapter to what is written here.
 *
 * Every value comes back exactly as it went in, times to the millisecond. What a method was given or has returned is
 * never shared with the store. What a method has done is durable when it resolves, as far as the adapter is durable at
 * all. Every method rejects with {@link StorageUnavailable} when the storage cannot be reached, within a bounded time,
 * and but for `list` with {@link DamagedApiKey} when what it holds of the key that is asked for is none any more.
 */
export interface ApiKeyRepository {
  /**
   * Stores a key, and nothing else that the object may have. One that is there already with the same digest is left as it is, so that an insert whose outcome is
   * unknown may be repeated.
   *
   * @throws {ApiKeyIdTaken} when another key has the id; it is not overwritten
   */
  insert(key: ApiKey): Promise<void>;

  /** The key with this id, whatever its state, or `undefined`. Whatever the text is, it is no more than an id. */
  findById(id: string): Promise<ApiKey | undefined>;

  /** Every key, in the order of creation; of the same instant, in that of the id. What is damaged is among them. */
  list(): Promise<readonly (ApiKey | DamagedApiKey)[]>;

  /** Ends the key at this instant, or leaves it as it is when it was revoked before that. As it is then, or `undefined`. */
  revoke(id: string, at: Date): Promise<ApiKey | undefined>;

  /** Lets the key expire at this instant, unless it does so earlier. As it is then, or `undefined` when there is none. */
  expire(id: string, at: Date): Promise<ApiKey | undefined>;

  /**
   * Notes when keys were last used, by id; ids that there are not are passed over. A time that is not at least
   * {@link USE_INTERVAL_MS} after the one that is noted writes nothing, whoever noted that.
   */
  recordUse(uses: ReadonlyMap<string, Date>): Promise<void>;
}
