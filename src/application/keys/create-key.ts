import { type ApiKey, type ApiKeyDraft, newApiKey } from '../../domain/api-key.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';

/** A new, unguessable token with its id and digest. */
export type MintedKey = Pick<ApiKey, 'id' | 'digest'> & {
  /** The secret. Shown once and stored nowhere. */
  readonly token: string;
};

/** A new key, and the only chance to read its token. */
export type CreatedKey = { readonly key: ApiKey; readonly token: string };

/** Delivers a new key to the operator who asked for it. */
export type Deliver = (created: CreatedKey) => void | Promise<void>;

export class CreateKey {
  readonly #keys: ApiKeyRepository;
  readonly #mint: () => MintedKey;
  readonly #now: () => Date;

  constructor(keys: ApiKeyRepository, mint: () => MintedKey, now: () => Date) {
    this.#keys = keys;
    this.#mint = mint;
    this.#now = now;
  }

  /**
   * Stores a new key and delivers it.
   *
   * @param deliver by default does nothing. If it fails, the token is lost. The key is then revoked, and the error is
   *   passed on
   * @throws {InvalidApiKey} when the draft breaks a rule; nothing is stored
   * @throws {ApiKeyIdTaken} when another key has the minted id; nothing is stored
   * @throws {DamagedApiKey} when a damaged record has the minted id; nothing is stored
   * @throws {StorageUnavailable}
   */
  async execute(draft: ApiKeyDraft, deliver: Deliver = () => {}): Promise<CreatedKey> {
    const checked = newApiKey(draft, this.#now());
    const { id, digest, token } = this.#mint();
    const key = { ...checked, id, digest };
    await this.#keys.insert(key);
    try {
      await deliver({ key, token });
    } catch (error) {
      await this.#keys.revoke(id, this.#now());
      throw error;
    }
    return { key, token };
  }
}
