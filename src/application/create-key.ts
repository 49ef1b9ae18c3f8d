import { type ApiKeyDraft, type ApiKeyRecord, newApiKey } from '../domain/api-key.ts';
import type { ApiKeyRepository } from './ports/api-key-repository.ts';
import type { KeyMint } from './ports/key-mint.ts';

/** A new key, and the one chance to see what is secret of it. */
export type CreatedKey = { readonly key: ApiKeyRecord; readonly token: string };

export class CreateKey {
  readonly #keys: ApiKeyRepository;
  readonly #mint: KeyMint;
  readonly #now: () => Date;

  constructor(keys: ApiKeyRepository, mint: KeyMint, now: () => Date) {
    this.#keys = keys;
    this.#mint = mint;
    this.#now = now;
  }

  /** @throws {InvalidApiKey} */
  async execute(draft: ApiKeyDraft): Promise<CreatedKey> {
    const checked = newApiKey(draft, this.#now());
    const { id, digest, token } = await this.#mint.mint();
    const key = { ...checked, id, digest };
    await this.#keys.insert(key);
    return { key, token };
  }
}
