import { ApiKeyIdTaken } from '../keys/errors.ts';
import type { ApiKey } from '../../domain/api-key.ts';
import { throwIfDamaged } from '../keys/parse-stored-api-key.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';

/**
 * Brings the API keys of a storage into another, as they are: clients need no new ones, and their idempotency keys,
 * which are bound to the id of the API key, are still known.
 */
export class CopyKeys {
  readonly #source: Pick<ApiKeyRepository, 'list'>;
  readonly #target: ApiKeyRepository;

  constructor(source: Pick<ApiKeyRepository, 'list'>, target: ApiKeyRepository) {
    this.#source = source;
    this.#target = target;
  }

  /**
   * May be repeated. A key that the target has already is left as it is, but that it ends as early as in the source and
   * has been used as late, to the minute. When another key is in the way, nothing is written.
   *
   * @returns the keys of the source; all of them are in the target now
   * @throws {DamagedApiKey} when the source has one; nothing is written
   * @throws {ApiKeyIdTaken} when the target has another key under an id of the source
   */
  async execute(): Promise<readonly ApiKey[]> {
    const keys = (await this.#source.list()).map(throwIfDamaged);
    for (const { id, digest } of keys) {
      const there = await this.#target.findById(id);
      if (there !== undefined && there.digest !== digest) throw new ApiKeyIdTaken(id);
    }
    const uses = new Map<string, Date>();
    for (const key of keys) {
      const { id, revokedAt, expiresAt, lastUsedAt } = key;
      await this.#target.insert(key);
      if (revokedAt !== undefined) await this.#target.revoke(id, revokedAt);
      if (expiresAt !== undefined) await this.#target.expire(id, expiresAt);
      if (lastUsedAt !== undefined) uses.set(id, lastUsedAt);
    }
    await this.#target.recordUse(uses);
    return keys;
  }
}
