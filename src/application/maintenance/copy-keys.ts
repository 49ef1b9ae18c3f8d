import { ApiKeyIdTaken } from '../keys/errors.ts';
import type { ApiKey } from '../../domain/api-key.ts';
import { throwIfDamaged } from '../keys/stored-keys.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';

/** `alreadyThere`: the number of keys that the target had before the copy. */
export type CopiedKeys = { readonly keys: readonly ApiKey[]; readonly alreadyThere: number };

/**
 * Copies API keys, so clients keep their keys. The target also recognizes repeated requests, because an Idempotency-Key
 * belongs to the id of an API key.
 */
export class CopyKeys {
  readonly #source: Pick<ApiKeyRepository, 'list'>;
  readonly #target: ApiKeyRepository;

  constructor(source: Pick<ApiKeyRepository, 'list'>, target: ApiKeyRepository) {
    this.#source = source;
    this.#target = target;
  }

  /**
   * Writes nothing. A copy calls `check` before long work, to fail early.
   *
   * @throws {DamagedApiKey} when a key of the source is damaged, or a key of the target with the same id
   * @throws {ApiKeyIdTaken}
   * @throws {StorageUnavailable}
   */
  async check(): Promise<CopiedKeys> {
    const keys = (await this.#source.list()).map(throwIfDamaged);
    let alreadyThere = 0;
    for (const { id, digest } of keys) {
      const existing = await this.#target.findById(id);
      if (existing !== undefined && existing.digest !== digest) throw new ApiKeyIdTaken(id);
      if (existing !== undefined) alreadyThere++;
    }
    return { keys, alreadyThere };
  }

  /**
   * Checks again, then copies. A failed check writes nothing. A caller can repeat the copy. A key that the target
   * already has is changed only if the source has an earlier revocation or expiry, or a use that is a minute later.
   *
   * @throws {DamagedApiKey | ApiKeyIdTaken | StorageUnavailable} some keys may be copied if the storage changed after
   *   the check
   */
  async execute(): Promise<CopiedKeys> {
    const result = await this.check();
    const uses = new Map<string, Date>();
    for (const key of result.keys) {
      const { id, revokedAt, expiresAt, lastUsedAt } = key;
      await this.#target.insert(key);
      if (revokedAt !== undefined) await this.#target.revoke(id, revokedAt);
      if (expiresAt !== undefined) await this.#target.expire(id, expiresAt);
      if (lastUsedAt !== undefined) uses.set(id, lastUsedAt);
    }
    await this.#target.recordUse(uses);
    return result;
  }
}
