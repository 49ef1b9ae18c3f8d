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
   * Ends a key for good. Every service that has verified it before forgets that within ten seconds. Done again, it
   * changes nothing.
   *
   * @throws {ApiKeyNotFound}
   */
  async execute(id: string): Promise<ApiKey> {
    const key = await this.#keys.revoke(id, this.#now());
    if (key === undefined) throw new ApiKeyNotFound(id);
    return key;
  }
}
