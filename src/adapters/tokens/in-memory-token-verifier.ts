import { hash, timingSafeEqual } from 'node:crypto';
import type { Caller, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { SCOPES } from '../../domain/api-key.ts';

/** A key that is known at start, without its token. */
export type KnownKey = {
  readonly caller: Caller;
  /** SHA-256 of the token. */
  readonly digest: Buffer;
};

type Labelled = { readonly token: string; readonly label: string };

/** By default, a key has its label as its id, and every scope. */
export function knownKey({ token, ...caller }: Partial<Caller> & Labelled): KnownKey {
  return { caller: { id: caller.label, scopes: SCOPES, ...caller }, digest: hash('sha256', token, 'buffer') };
}

/** Verifies a fixed set of keys. Compares a token with all of them, so the time reveals nothing about any of them. */
export class InMemoryTokenVerifier implements TokenVerifier {
  readonly #keys: readonly KnownKey[];
  /**
   * Callers by token, of the tokens that were accepted: hashing a token is slow. A lookup compares a token with a
   * stored one only if their seeded hashes are equal, so its time reveals nothing.
   */
  readonly #accepted = new Map<string, Caller>();

  constructor(keys: readonly KnownKey[]) {
    this.#keys = keys;
  }

  async verify(token: string): Promise<Caller | undefined> {
    return this.#accepted.get(token) ?? this.#compare(token);
  }

  #compare(token: string): Caller | undefined {
    const digest = hash('sha256', token, 'buffer');
    let found: Caller | undefined;
    for (const known of this.#keys) if (timingSafeEqual(known.digest, digest)) found = known.caller;
    if (found !== undefined) this.#accepted.set(token, found);
    return found;
  }
}
