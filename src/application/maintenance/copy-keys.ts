import { ApiKeyIdTaken } from '../keys/errors.ts';
import type { ApiKey } from '../../domain/api-key.ts';
import { throwIfDamaged } from '../keys/stored-keys.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';

/** `alreadyThere`: how many of the keys of the source were in the target before. */
export type CopiedKeys = { readonly keys: readonly ApiKey[]; readonly alreadyThere: number };

/**
 * Copies the API keys of a storage to another one. Clients keep their keys, and a retried request replays there too: an
 * Idempotency-Key belongs to the id of an API key.
 */
export class CopyKeys {
  readonly #source: Pick<ApiKeyRepository, 'list'>;
  readonly #target: ApiKeyRepository;

  constructor(source: Pick<ApiKeyRepository, 'list'>, target: ApiKeyRepository) {
    this.#source = source;
    this.#target = target;
  }

  /**
   * Writes nothing. A copy that starts with long work calls this first, to fail before that work.
   *
   * @returns the keys of the source
   * @throws {DamagedApiKey} when the source has one, or the target under an id of the source
   * @throws {ApiKeyIdTaken} when the target has another key under an id of the source
   * @throws {StorageUnavailable}
   */
  async check(): Promise<CopiedKeys> {
    const keys = (await this.#source.list()).map(throwIfDamaged);
    let alreadyThere = 0;
    for (const { id, digest } of keys) {
      const there = await this.#target.findById(id);
      if (there !== undefined && there.digest !== digest) throw new ApiKeyIdTaken(id);
      if (there !== undefined) alreadyThere++;
    }
    return { keys, alreadyThere };
  }

  /**
   * Checks again, then copies. Can be repeated. A key that the target already has changes in two ways only: it ends as
   * early as in the source, and its last use is as late, to the minute.
   *
   * @returns the keys of the source, all of which are now in the target
   * @throws {DamagedApiKey} as {@link check}, and then nothing is written; also when a key is damaged during the copy
   * @throws {ApiKeyIdTaken} likewise; also when another key arrives during the copy. It is not overwritten
   * @throws {StorageUnavailable} some keys may have been copied
   */
  async execute(): Promise<CopiedKeys> {
    const copied = await this.check();
    const uses = new Map<string, Date>();
    for (const key of copied.keys) {
      const { id, revokedAt, expiresAt, lastUsedAt } = key;
      await this.#target.insert(key);
      if (revokedAt !== undefined) await this.#target.revoke(id, revokedAt);
      if (expiresAt !== undefined) await this.#target.expire(id, expiresAt);
      if (lastUsedAt !== undefined) uses.set(id, lastUsedAt);
    }
    await this.#target.recordUse(uses);
    return copied;
  }
}
