import { type ApiKeyDraft, apiKeyState } from '../../domain/api-key.ts';
import { ApiKeyNotActive, ApiKeyNotFound } from './errors.ts';
import type { CreatedKey, CreateKey, Deliver } from './create-key.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';

export type Rotation = {
  /** The old key stays valid for this time, at least 0 ms. */
  readonly overlapMs: number;
  /** When the new key expires. Default: never. */
  readonly expiresAt?: Date | undefined;
};

/** Replaces a key by a successor: see "A key and its successors" in docs/explanation/keys-and-their-cache.md. */
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
   * The old key is unchanged until the new key is delivered. The old key never expires later than before.
   *
   * @throws {ApiKeyNotFound | ApiKeyNotActive | DamagedApiKey}
   * @throws {InvalidApiKey} when `expiresAt` is not in the future
   * @throws {ApiKeyIdTaken | DamagedApiKey} when the id of the new key is already taken
   * @throws {StorageUnavailable} the new key may be delivered, and the old key may keep its expiry
   */
  async execute(id: string, { overlapMs, expiresAt }: Rotation, deliver?: Deliver): Promise<CreatedKey> {
    const now = this.#now();
    const oldKey = await this.#keys.findById(id);
    if (oldKey === undefined) throw new ApiKeyNotFound(id);
    const state = apiKeyState(oldKey, now);
    if (state !== 'active') throw new ApiKeyNotActive(id, state);
    const { label, scopes, rateLimit, originId = id } = oldKey;
    const draft: Required<ApiKeyDraft> = { label, scopes, rateLimit, originId, expiresAt };
    const created = await this.#createKey.execute(draft, deliver);
    await this.#keys.expire(id, new Date(now.getTime() + overlapMs));
    return created;
  }
}
