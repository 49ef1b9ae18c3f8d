import { hash, timingSafeEqual } from 'node:crypto';
import type { ApiKey, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { SCOPES } from '../../domain/api-key.ts';

/** A key that is known in advance, without the key itself. */
export type KnownKey = ApiKey & {
  /** SHA-256 of the key. */
  readonly digest: Buffer;
};

/** A key for everything, that its label tells from the others. */
export function knownKey({ label, key }: { readonly label: string; readonly key: string }): KnownKey {
  return { id: label, label, scopes: SCOPES, digest: sha256(key) };
}

export function sha256(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** A fixed set of keys. Compares with every one of them, so that the time tells nothing about which was near. */
export class InMemoryTokenVerifier implements TokenVerifier {
  readonly #keys: readonly KnownKey[];

  constructor(keys: readonly KnownKey[]) {
    this.#keys = keys;
  }

  async verify(token: string): Promise<ApiKey | undefined> {
    const digest = sha256(token);
    let found: ApiKey | undefined;
    for (const key of this.#keys) if (timingSafeEqual(key.digest, digest)) found = key;
    return found;
  }
}
