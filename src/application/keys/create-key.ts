import { type ApiKeyDraft, type ApiKey, newApiKey } from '../../domain/api-key.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';
import type { KeyMint } from '../ports/key-mint.ts';

/** A new key, and the one chance to see what is secret of it. */
export type CreatedKey = { readonly key: ApiKey; readonly token: string };

/** Gives a new key to whoever asked for it. */
export type HandOver = (created: CreatedKey) => void | Promise<void>;

export class CreateKey {
  readonly #keys: ApiKeyRepository;
  readonly #mint: KeyMint;
  readonly #now: () => Date;

  constructor(keys: ApiKeyRepository, mint: KeyMint, now: () => Date) {
    this.#keys = keys;
    this.#mint = mint;
    this.#now = now;
  }

  /**
   * @param handOver may fail; then the key, which nobody has, is revoked
   * @throws {InvalidApiKey}
   */
  async execute(draft: ApiKeyDraft, handOver: HandOver = () => {}): Promise<CreatedKey> {
    const checked = newApiKey(draft, this.#now());
    const { id, digest, token } = await this.#mint.mint();
    const key = { ...checked, id, digest };
    await this.#keys.insert(key);
    try {
      await handOver({ key, token });
    } catch (error) {
      await this.#keys.revoke(id, this.#now());
      throw error;
    }
    return { key, token };
  }
}
