import { type ApiKey, type ApiKeyDraft, newApiKey } from '../../domain/api-key.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';

export type MintedKey = Pick<ApiKey, 'id' | 'digest'> & {
  /** The secret, which an attacker cannot guess. Shown once and stored nowhere. */
  readonly token: string;
};

export type CreatedKey = { readonly key: ApiKey; readonly token: string };

export type Deliver = (created: CreatedKey) => void | Promise<void>;

export class CreateKey {
  readonly #keys: ApiKeyRepository;
  readonly #generateKey: () => MintedKey;
  readonly #now: () => Date;

  constructor(keys: ApiKeyRepository, generateKey: () => MintedKey, now: () => Date) {
    this.#keys = keys;
    this.#generateKey = generateKey;
    this.#now = now;
  }

  /**
   * @param deliver shows the token to the operator. After an error of `deliver`, the key is revoked
   * @throws {InvalidApiKey} when the draft breaks a rule; nothing is stored
   * @throws {ApiKeyIdTaken | DamagedApiKey} when the new id is already taken; nothing is stored
   * @throws {StorageUnavailable} the key may be stored
   */
  async execute(draft: ApiKeyDraft, deliver: Deliver = () => {}): Promise<CreatedKey> {
    const checked = newApiKey(draft, this.#now());
    const { id, digest, token } = this.#generateKey();
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
