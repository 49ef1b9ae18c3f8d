import type { ApiKey } from '../../domain/api-key.ts';
import { ApiKeyNotFound } from './errors.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';

export class RevokeKey {
  readonly #keys: ApiKeyRepository;
  readonly #now: () => Date;

  constructor(keys: ApiKeyRepository, now: () => Date) {
    this.#keys = keys;
    this.#now = now;
  }

  /**
   * Revokes a key for good. Revoking it again changes nothing. Running services refuse the key within ten seconds.
   *
   * @throws {ApiKeyNotFound}
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  async execute(id: string): Promise<ApiKey> {
    const key = await this.#keys.revoke(id, this.#now());
    if (key === undefined) throw new ApiKeyNotFound(id);
    return key;
  }
}
