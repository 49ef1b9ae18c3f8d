import { hash, timingSafeEqual } from 'node:crypto';
import type { Caller, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { SCOPES } from '../../domain/api-key.ts';

/** A key that is known at the start. It has the digest of its token, not the token. */
export type KnownKey = {
  readonly caller: Caller;
  readonly digest: Buffer;
};

type LabelledToken = { readonly token: string; readonly label: string };

export function toKnownKey({ token, ...caller }: Partial<Caller> & LabelledToken): KnownKey {
  return { caller: { id: caller.label, scopes: SCOPES, ...caller }, digest: hash('sha256', token, 'buffer') };
}

/** Compares a new token with every key, so the time reveals nothing about a key. Keeps the tokens that it accepts. */
export class InMemoryTokenVerifier implements TokenVerifier {
  readonly #keys: readonly KnownKey[];
  /** Saves a hash per request. The time of a lookup reveals no token: see docs/explanation/keys-and-their-cache.md. */
  readonly #callersByToken = new Map<string, Caller>();

  constructor(keys: readonly KnownKey[]) {
    this.#keys = keys;
  }

  async verify(token: string): Promise<Caller | undefined> {
    return this.#callersByToken.get(token) ?? this.#compare(token);
  }

  #compare(token: string): Caller | undefined {
    const digest = hash('sha256', token, 'buffer');
    let foundCaller: Caller | undefined;
    for (const known of this.#keys) if (timingSafeEqual(known.digest, digest)) foundCaller = known.caller;
    if (foundCaller !== undefined) this.#callersByToken.set(token, foundCaller);
    return foundCaller;
  }
}
