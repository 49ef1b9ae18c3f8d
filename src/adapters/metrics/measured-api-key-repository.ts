import type { DamagedApiKey } from '../../application/keys/errors.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { ApiKey } from '../../domain/api-key.ts';
import type { StorageMetrics } from './storage-metrics.ts';

/** Measures the calls of another repository. Resolves and rejects as it does. */
export class MeasuredApiKeyRepository implements ApiKeyRepository {
  readonly #keys: ApiKeyRepository;
  readonly #metrics: StorageMetrics;

  constructor(keys: ApiKeyRepository, metrics: StorageMetrics) {
    this.#keys = keys;
    this.#metrics = metrics;
  }

  /**
   * @throws {ApiKeyIdTaken}
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  insert(key: ApiKey): Promise<void> {
    return this.#metrics.measure('insert_key', () => this.#keys.insert(key));
  }

  /**
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  findById(id: string): Promise<ApiKey | undefined> {
    return this.#metrics.measure('find_key', () => this.#keys.findById(id));
  }

  /** @throws {StorageUnavailable} */
  list(): Promise<readonly (ApiKey | DamagedApiKey)[]> {
    return this.#metrics.measure('list_keys', () => this.#keys.list());
  }

  /**
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  revoke(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#metrics.measure('revoke_key', () => this.#keys.revoke(id, at));
  }

  /**
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  expire(id: string, at: Date): Promise<ApiKey | undefined> {
    return this.#metrics.measure('expire_key', () => this.#keys.expire(id, at));
  }

  /** @throws {StorageUnavailable} */
  recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    return this.#metrics.measure('record_key_uses', () => this.#keys.recordUse(uses));
  }
}
