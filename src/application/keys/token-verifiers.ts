import { apiKeyState } from '../../domain/api-key.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';
import type { Caller, TokenForm, TokenRefusal, TokenVerifier } from '../ports/token-verifier.ts';

/**
 * For this time after a query, a valid key needs no further query. A revocation takes effect with at most this delay:
 * see docs/explanation/keys-and-their-cache.md.
 */
const TRUSTED_MS = 5_000;

const MAX_TRUSTED_KEYS = 10_000;

type TrustedKey = {
  readonly caller: Caller;
  readonly expiresAt: Date | undefined;
  /** On the clock of `performance.now()`. */
  readonly untilMs: number;
};

export class StoredTokenVerifier implements TokenVerifier {
  readonly #keys: Pick<ApiKeyRepository, 'findById' | 'recordUse'>;
  readonly #form: TokenForm;
  readonly #now: () => Date;
  readonly #onRefusal: (reason: TokenRefusal) => void;
  /** By the whole token, as a protection against timing attacks: see docs/explanation/keys-and-their-cache.md. */
  readonly #trustedKeys = new Map<string, TrustedKey>();
  #unstoredUses = new Map<string, Date>();

  constructor(
    keys: Pick<ApiKeyRepository, 'findById' | 'recordUse'>,
    form: TokenForm,
    now: () => Date,
    onRefusal: (reason: TokenRefusal) => void = () => {},
  ) {
    this.#keys = keys;
    this.#form = form;
    this.#now = now;
    this.#onRefusal = onRefusal;
  }

  async verify(token: string): Promise<Caller | undefined> {
    const caller = this.#cached(token) ?? (await this.#query(token));
    if (caller !== undefined) this.#unstoredUses.set(caller.id, this.#now());
    return caller;
  }

  /**
   * Stores the last uses of keys. If this fails, the next call also stores these uses.
   *
   * @throws {StorageUnavailable}
   */
  async recordUses(): Promise<void> {
    if (this.#unstoredUses.size === 0) return;
    const uses = this.#unstoredUses;
    this.#unstoredUses = new Map();
    try {
      await this.#keys.recordUse(uses);
    } catch (error) {
      this.#unstoredUses = new Map([...uses, ...this.#unstoredUses]);
      throw error;
    }
  }

  #cached(token: string): Caller | undefined {
    const trustedKey = this.#trustedKeys.get(token);
    if (trustedKey === undefined) return undefined;
    const { caller, expiresAt, untilMs } = trustedKey;
    if (performance.now() < untilMs && (expiresAt === undefined || this.#now() < expiresAt)) return caller;
    this.#trustedKeys.delete(token);
    return undefined;
  }

  async #query(token: string): Promise<Caller | undefined> {
    const id = this.#form.idOf(token);
    if (id === undefined) return this.#refuse('unknown');
    // The time begins before the query, because a revocation may be stored during the query.
    const untilMs = performance.now() + TRUSTED_MS;
    const key = await this.#keys.findById(id);
    // Every token takes all checks, so that the time does not reveal which check failed.
    const isTokenOfKey = this.#form.hasDigest(token, key?.digest);
    const state = apiKeyState(key ?? {}, this.#now());
    if (key === undefined || !isTokenOfKey) return this.#refuse('unknown');
    if (state !== 'active') return this.#refuse(state);
    const { label, scopes, rateLimit, originId, expiresAt } = key;
    const caller = { id, label, scopes, rateLimit, originId };
    const [oldest] = this.#trustedKeys.keys();
    if (this.#trustedKeys.size >= MAX_TRUSTED_KEYS && oldest !== undefined) this.#trustedKeys.delete(oldest);
    this.#trustedKeys.set(token, { caller, expiresAt, untilMs });
    return caller;
  }

  #refuse(reason: TokenRefusal): undefined {
    this.#onRefusal(reason);
  }
}

/** The second verifier checks only tokens that the first verifier refuses. */
export function eitherTokenVerifier(first: TokenVerifier, second: TokenVerifier): TokenVerifier {
  return { verify: async (token) => (await first.verify(token)) ?? (await second.verify(token)) };
}
