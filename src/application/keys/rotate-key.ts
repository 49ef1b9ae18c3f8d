import { type ApiKeyDraft, apiKeyState } from '../../domain/api-key.ts';
import { ApiKeyNotActive, ApiKeyNotFound } from './errors.ts';
import type { CreatedKey, CreateKey, Deliver } from './create-key.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';

export type Rotation = {
  /** How long the old key stays valid, in milliseconds, at least 0. */
  readonly overlapMs: number;
  /** When the new key expires. Without it, the new key never expires. */
  readonly expiresAt?: Date | undefined;
};

/**
 * Replaces a key with a new one of the same label, scopes and rate limit. The old one expires after an overlap. A request
 * that is repeated with the new key is the same request: the new key has the origin of the old one.
 */
export class RotateKey {
  readonly #keys: ApiKeyRepository;
  readonly #createKey: CreateKey;
  readonly #now: () => Date;

  constructor(keys: ApiKeyRepository, createKey: CreateKey, now: () => Date) {
    this.#keys = keys;
    this.#createKey = createKey;
    this.#now = now;
  }

  /**
   * Leaves the old key unchanged until the new key has been delivered. Never extends the life of the old key.
   *
   * @throws {ApiKeyNotFound}
   * @throws {ApiKeyNotActive} when the key is expired or revoked
   * @throws {InvalidApiKey} when the new key would have expired already
   * @throws {ApiKeyIdTaken} when another key has the minted id
   * @throws {DamagedApiKey} when the record of the old key or of the minted id is damaged
   * @throws {StorageUnavailable} the new key may have been delivered by then, and the old key may not expire yet
   */
  async execute(id: string, { overlapMs, expiresAt }: Rotation, deliver?: Deliver): Promise<CreatedKey> {
    const now = this.#now();
    const before = await this.#keys.findById(id);
    if (before === undefined) throw new ApiKeyNotFound(id);
    const state = apiKeyState(before, now);
    if (state !== 'active') throw new ApiKeyNotActive(id, state);
    const { label, scopes, rateLimit, originId = id } = before;
    const draft: Required<ApiKeyDraft> = { label, scopes, rateLimit, originId, expiresAt };
    const created = await this.#createKey.execute(draft, deliver);
    await this.#keys.expire(id, new Date(now.getTime() + overlapMs));
    return created;
  }
}
